"""What a published table still tells: figures that compare it with the one that it was made from."""
