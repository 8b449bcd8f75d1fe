"""The searches: each turns a table and its promises into a recoding."""
