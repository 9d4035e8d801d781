"""An all-reduce by torch.distributed, set up from the environment."""

import torch.distributed as dist
from seen import value, write
from torch import tensor

dist.init_process_group("gloo")
number = tensor([value(dist.get_rank())])
dist.all_reduce(number)
write(dist.get_rank(), dist.get_world_size(), number.item())
dist.destroy_process_group()
