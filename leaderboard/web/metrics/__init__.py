"""Numbers for who watches the site: what is counted of requests, and all of it as Prometheus reads it."""
