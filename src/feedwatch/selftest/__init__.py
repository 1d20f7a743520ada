"""`feedwatch selftest`: trainings of known truth on the device that you have, and what feedwatch says of them."""
