"""Load tests on Locust that measure the server: one locustfile a workload, all work beside it."""
