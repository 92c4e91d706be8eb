"""The settings of a task: what each is called and may be, reading and changing them."""
