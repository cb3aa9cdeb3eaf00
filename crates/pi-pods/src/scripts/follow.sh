# Prints the log of a model and follows it until the process ends.
# Variables: NAME PID FOLLOW LINES

main() {
    local log="$HOME/.vllm_logs/$NAME.log"
    [ -f "$log" ] || fail "there is no log of $NAME on the pod"
    if [ "$FOLLOW" = yes ] && kill -0 "$PID" 2>/dev/null; then
        exec tail --pid="$PID" -n "$LINES" -F "$log" 2>/dev/null
    fi
    tail -n "$LINES" "$log"
}
