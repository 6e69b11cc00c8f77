# Every image of the bundle. Run from the repository root: LINE=<line> docker buildx bake -f images/docker-bake.hcl [TARGET…]
# The variables are set by the Ansible role `images`; where there is a default, it is that of the CPU target.
# The engine line: always named, because versions stand in ansible/lock and nowhere else.
variable "LINE" { default = "" }
variable "TARGET" { default = "cpu" }
variable "BASE_IMAGE" { default = "ascend-dock/debian:bookworm" }
# An existing engine image (the vllm-ascend image on an NPU host, or one of your own). Empty: build the CPU engine.
variable "ENGINE_BASE" { default = "" }
variable "PIP_INDEX_URL" { default = "" }
variable "TORCH_INDEX_URL" { default = "" }
variable "CA_BUNDLE" { default = "/dev/null" }
# Digests of what each image is made of; `images` rebuilds only when they change.
variable "INPUTS_ENGINE" { default = "" }
variable "INPUTS_MODEL" { default = "" }
variable "INPUTS_GATEWAY" { default = "" }

group "default" {
  targets = ["lightonocr", "gateway"]
}

target "engine-cpu" {
  context    = "."
  dockerfile = "images/engine-cpu/Dockerfile"
  args       = { BASE_IMAGE = BASE_IMAGE, LINE = LINE, PIP_INDEX_URL = PIP_INDEX_URL, TORCH_INDEX_URL = TORCH_INDEX_URL, INPUTS_ENGINE = INPUTS_ENGINE }
  secret     = ["id=ca,src=${CA_BUNDLE}"]
  tags       = ["ascend-dock/engine-cpu:${LINE}"]
}

target "_model" {
  context    = "."
  dockerfile = "images/Dockerfile"
  contexts   = ENGINE_BASE == "" ? { engine = "target:engine-cpu" } : {}
  args       = { ENGINE_BASE = ENGINE_BASE == "" ? "engine" : ENGINE_BASE, TARGET = TARGET, INPUTS_MODEL = INPUTS_MODEL }
}

target "lightonocr" {
  inherits = ["_model"]
  args     = { MODEL = "lightonocr" }
  tags     = ["ascend-dock/lightonocr:${LINE}-${TARGET}"]
}

target "gateway" {
  context    = "."
  dockerfile = "images/gateway/Dockerfile"
  args       = { BASE_IMAGE = BASE_IMAGE, INPUTS_GATEWAY = INPUTS_GATEWAY }
  tags       = ["ascend-dock/gateway:${LINE}"]
}
