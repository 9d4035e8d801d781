"""What moto's S3 does otherwise than we need."""
