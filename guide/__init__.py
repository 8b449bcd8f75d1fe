"""The makers of the guide: reference pages from the code, pictures, and the trial of the tutorials."""
