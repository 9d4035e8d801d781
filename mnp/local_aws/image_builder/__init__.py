"""EC2 Image Builder: its resources, with what AWS refuses, and builds that register an image.

A build copies the parent's AMI in moto's EC2 and writes the parameters that the distribution names. Nothing of a
component is run: what is in the image is not modelled.
"""
