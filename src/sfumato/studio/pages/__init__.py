"""The pages of the studio, one file per verb; each has its routes."""
