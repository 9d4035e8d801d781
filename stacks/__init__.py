"""What is provisioned: the network and the cluster, one construct per concept."""
