# Prepares a pod: checks the hardware, then installs what is missing. Each finished step leaves a file in
# ~/.pi-pods/steps, so that another run resumes after the last one.
# Variables: MODELS_PATH MOUNT VLLM MIN_DRIVER MIN_HOME_GB MIN_MODELS_GB

# Whether a step has finished with the same parameter.
is_finished() {
    [ -f "$state/steps/$1" ] && [ "$(cat "$state/steps/$1")" = "$2" ]
}

finish() {
    printf '%s' "$2" >"$state/steps/$1.new" && mv "$state/steps/$1.new" "$state/steps/$1"
}

# Runs a function unless it has finished with the same parameter.
step() {
    if is_finished "$1" "$2"; then
        report step "$1: done before"
        return
    fi
    report step "$1"
    "step_$1" </dev/null 2>&1 || fail "step $1 failed"
    finish "$1" "$2" || fail "cannot write $state/steps/$1"
}

# Gigabytes available at a path or at its nearest existing parent.
available_gb() {
    local path="$1"
    while [ ! -e "$path" ] && [ "$path" != / ]; do path="$(dirname "$path")"; done
    df -Pk "$path" | awk 'NR == 2 { print int($4 / 1048576) }'
}

check_disk() {
    local available
    available="$(available_gb "$1")"
    [ "${available:-0}" -ge "$2" ] || fail "$1 has ${available:-0} GB available, $2 GB are needed"
}

check_hardware() {
    command -v nvidia-smi >/dev/null || fail "nvidia-smi is missing: the machine has no NVIDIA driver"
    local driver
    driver="$(nvidia-smi --query-gpu=driver_version --format=csv,noheader </dev/null | head -n 1)"
    case "${driver%%.*}" in
    '' | *[!0-9]*) fail "nvidia-smi shows no driver version: $driver" ;;
    esac
    [ "${driver%%.*}" -ge "$MIN_DRIVER" ] || fail "NVIDIA driver $driver is too old, $MIN_DRIVER or newer is needed"
    check_disk "$HOME" "$MIN_HOME_GB"
}

step_packages() {
    command -v curl >/dev/null && command -v gcc >/dev/null && return
    command -v apt-get >/dev/null || fail "curl and gcc are needed, and there is no apt-get to install them"
    local sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    export DEBIAN_FRONTEND=noninteractive
    $sudo apt-get update -y && $sudo apt-get install -y curl ca-certificates build-essential
}

step_uv() {
    command -v uv >/dev/null && return
    curl -LsSf https://astral.sh/uv/install.sh | sh
}

step_python() {
    rm -rf "$state/venv"
    uv venv --python 3.12 --seed "$state/venv"
}

step_vllm() {
    export VIRTUAL_ENV="$state/venv"
    case "$VLLM" in
    release) uv pip install 'vllm>=0.10.0' --torch-backend=auto ;;
    nightly) uv pip install -U vllm --torch-backend=auto --extra-index-url https://wheels.vllm.ai/nightly ;;
    gpt-oss)
        uv pip install --pre 'vllm==0.10.1+gptoss' --extra-index-url https://wheels.vllm.ai/gpt-oss/ \
            --extra-index-url https://download.pytorch.org/whl/nightly/cu128 --index-strategy unsafe-best-match
        ;;
    *) fail "unknown vLLM version $VLLM" ;;
    esac
}

step_hub() {
    VIRTUAL_ENV="$state/venv" uv pip install huggingface-hub hf_transfer
}

# Runs every time: a mount does not survive a restart of the machine.
prepare_models_path() {
    report step models
    [ -n "$MODELS_PATH" ] || MODELS_PATH="$state/models"
    report modelspath "$MODELS_PATH"
    if [ -n "$MOUNT" ] && ! mountpoint -q "$MODELS_PATH"; then
        mkdir -p "$MODELS_PATH" || fail "cannot create $MODELS_PATH"
        bash -c "$MOUNT" </dev/null 2>&1 || fail "the mount command failed"
    fi
    check_disk "$MODELS_PATH" "$MIN_MODELS_GB"
    mkdir -p "$MODELS_PATH/huggingface" || fail "cannot write to $MODELS_PATH"
    [ -w "$MODELS_PATH/huggingface" ] || fail "cannot write to $MODELS_PATH"
}

main() {
    use_tools
    report step checks
    check_hardware
    mkdir -p "$state/steps" || fail "cannot create $state"
    # Steps that a cut connection left running hold the lock until they end.
    exec 9>"$state/lock"
    flock -w 60 9 || fail "another setup is still running on the pod; try again when it has ended"
    step packages ''
    step uv ''
    step python ''
    step vllm "$VLLM"
    step hub ''
    prepare_models_path
    nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader </dev/null | while IFS= read -r gpu; do
        report gpu "$gpu"
    done
    report finished setup
}
