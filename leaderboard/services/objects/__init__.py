"""Files as sent that lie in an object store: moved there and back, and what is left over removed."""
