# Stops a model: its whole process group, with 10 seconds to end.
# Variables: NAME PID

main() {
    if ! is_runner "$PID" "$NAME"; then
        report stopped "was not running"
        return
    fi
    kill -TERM -- "-$PID" 2>/dev/null
    local waited=0
    while kill -0 -- "-$PID" 2>/dev/null; do
        if [ "$waited" -ge 100 ]; then
            kill -KILL -- "-$PID" 2>/dev/null
            break
        fi
        sleep 0.1
        waited=$((waited + 1))
    done
    report stopped "$NAME"
}
