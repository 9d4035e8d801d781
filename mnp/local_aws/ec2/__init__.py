"""What moto's EC2 lacks."""
