# Starts a model in its own process group and prints its process and port.
# Variables: NAME SERVED MODEL FIRST_PORT GPUS MODELS_PATH HF_TOKEN API_KEY, arrays TAKEN_PORTS VARIABLES ARGUMENTS

# Arguments: model, port, served name, arguments of vLLM.
RUNNER='
case "$1" in
/*) ;;
*) hf download "$1" || { echo "pi-pods: download failed"; exit 1; } ;;
esac
vllm serve "$1" --host 127.0.0.1 --port "$2" --served-model-name "$3" "${@:4}"
code=$?
echo "pi-pods: exited with code $code"
exit $code
'

is_taken() {
    local taken
    for taken in "${TAKEN_PORTS[@]}"; do [ "$taken" = "$1" ] && return 0; done
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

main() {
    use_tools
    command -v vllm >/dev/null && command -v hf >/dev/null ||
        fail "vllm is not installed: run pi-pods setup again"
    umask 077
    mkdir -p "$HOME/.vllm_logs" || fail "cannot create ~/.vllm_logs"
    local log="$HOME/.vllm_logs/$NAME.log" port="$FIRST_PORT" variable
    while is_taken "$port"; do
        port=$((port + 1))
        [ "$port" -lt $((FIRST_PORT + 1000)) ] || fail "no free port"
    done
    [ ! -f "$log" ] || mv "$log" "$log.old"
    : >"$log" || fail "cannot write $log"
    export VLLM_API_KEY="$API_KEY" VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 HF_HUB_ENABLE_HF_TRANSFER=1
    export PYTHONUNBUFFERED=1 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    [ -z "$HF_TOKEN" ] || export HF_TOKEN
    [ -z "$MODELS_PATH" ] || export HF_HOME="$MODELS_PATH/huggingface"
    [ -z "$GPUS" ] || export CUDA_VISIBLE_DEVICES="$GPUS"
    for variable in "${VARIABLES[@]}"; do export "${variable?}"; done
    setsid bash -c "$RUNNER" "pi-pods:$NAME" "$MODEL" "$port" "$SERVED" "${ARGUMENTS[@]}" </dev/null >>"$log" 2>&1 &
    report pid "$!"
    report port "$port"
}
