# One line each; the work is done by the verbs. Everything runs from .venv, which scripts/bootstrap makes.
.PHONY: demo test soak lint bench
BENCH ?=
bin := .venv/bin

demo:
	scripts/bootstrap
	$(bin)/ansible-playbook site.yml
	$(bin)/locust -f loadtest/ocr.py --headless -u 2 -r 2 -t 20s
	$(bin)/python -m smoke lightonocr --quick

test: lint
	$(bin)/pytest tests

soak: lint
	SOAK=1 $(bin)/pytest tests

lint:
	scripts/bootstrap dev
	scripts/lint

bench:
	scripts/bootstrap
	$(bin)/python -m bench $(BENCH)
