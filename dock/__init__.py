"""The ground floor that `smoke` and `loadtest` stand on: settings, models, pages, text."""
