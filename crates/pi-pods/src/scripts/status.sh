# Prints the state of models.
# Array MODELS: name, process and port of each.

is_healthy() {
    (
        exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
        printf 'GET /health HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
        IFS= read -r -t 5 line <&3
        case "$line" in
        HTTP/*' 200'*) exit 0 ;;
        *) exit 1 ;;
        esac
    ) 2>/dev/null
}

main() {
    local index=0 state name
    while [ "$index" -lt "${#MODELS[@]}" ]; do
        name="${MODELS[$index]}"
        if ! is_runner "${MODELS[$((index + 1))]}" "$name"; then
            state=stopped
        elif is_healthy "${MODELS[$((index + 2))]}"; then
            state=running
        else
            state=starting
        fi
        report status "$name $state"
        index=$((index + 3))
    done
}
