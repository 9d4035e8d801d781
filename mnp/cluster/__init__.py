"""What is asked for: the cluster file, AWS's rules about it and the facts of the instance types.

Pure: nothing here reads an environment variable, a credential or the network.
"""
