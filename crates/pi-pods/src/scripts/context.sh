# Prints the context window that the server reports for its model.
# Variables: PORT API_KEY

main() {
    local answer
    exec 3<>"/dev/tcp/127.0.0.1/$PORT" || return
    printf 'GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n' "$API_KEY" >&3
    answer="$(timeout 10 head -c 65536 <&3 | grep -Eo '"max_model_len": ?[0-9]+' | head -n 1)"
    report context "${answer##*[: ]}"
}
