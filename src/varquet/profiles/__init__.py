"""What is in the data: exact counts per path that merge, and what to make of them."""
