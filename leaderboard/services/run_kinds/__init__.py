"""What is done with runs, by their kind: each module holds the object of the kind that it is named after."""
