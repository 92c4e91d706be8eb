"""The demo's tasks, sent as participants and organisers would send them."""
