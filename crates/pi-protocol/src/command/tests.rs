//! The JSON form of commands and replies.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn every_command_round_trips_byte_for_byte() {
    for line in [
        r#"{"type":"prompt","message":"a","images":[{"type":"image","data":"AA==","mimeType":"image/png"}],"streamingBehavior":"followUp"}"#,
        r#"{"type":"prompt","message":"a"}"#,
        r#"{"type":"steer","message":"a"}"#,
        r#"{"type":"follow_up","message":"a"}"#,
        r#"{"type":"abort"}"#,
        r#"{"type":"clear_queue"}"#,
        r#"{"type":"answer","request":"1","answer":{"type":"deny","reason":"no"}}"#,
        r#"{"type":"new_session","parentSession":"/a.jsonl"}"#,
        r#"{"type":"get_state"}"#,
        r#"{"type":"get_messages"}"#,
        r#"{"type":"set_model","provider":"p","modelId":"m"}"#,
        r#"{"type":"cycle_model"}"#,
        r#"{"type":"get_available_models"}"#,
        r#"{"type":"set_thinking_level","level":"high"}"#,
        r#"{"type":"cycle_thinking_level"}"#,
        r#"{"type":"get_available_thinking_levels"}"#,
        r#"{"type":"set_steering_mode","mode":"one-at-a-time"}"#,
        r#"{"type":"set_follow_up_mode","mode":"all"}"#,
        r#"{"type":"compact","customInstructions":"short"}"#,
        r#"{"type":"compact"}"#,
        r#"{"type":"set_auto_compaction","enabled":true}"#,
        r#"{"type":"set_auto_retry","enabled":false}"#,
        r#"{"type":"abort_retry"}"#,
        r#"{"type":"bash","command":"ls","excludeFromContext":true}"#,
        r#"{"type":"abort_bash"}"#,
        r#"{"type":"get_session_stats"}"#,
        r#"{"type":"export_html","outputPath":"/a.html"}"#,
        r#"{"type":"switch_session","sessionPath":"/a.jsonl"}"#,
        r#"{"type":"fork","entryId":"e"}"#,
        r#"{"type":"clone"}"#,
        r#"{"type":"get_fork_messages"}"#,
        r#"{"type":"get_entries","since":"e"}"#,
        r#"{"type":"get_tree"}"#,
        r#"{"type":"get_last_assistant_text"}"#,
        r#"{"type":"set_session_name","name":"n"}"#,
        r#"{"type":"get_commands"}"#,
        r#"{"type":"hello","elicitation":true}"#,
        r#"{"type":"hello"}"#,
        r#"{"type":"get_mcp_servers"}"#,
        r#"{"type":"hello","protocol":1,"version":"v","right":"view","since":"1-2","entry":"e","screen":{"cols":80,"rows":24}}"#,
        r#"{"type":"mcp_action","server":"s","action":"connect"}"#,
        r#"{"type":"list_sessions","all":true}"#,
        r#"{"type":"list_sessions"}"#,
        r#"{"type":"navigate_tree","entryId":"e","summarize":true,"customInstructions":"short"}"#,
        r#"{"type":"navigate_tree","entryId":"e"}"#,
        r#"{"type":"navigate_tree","entryId":"e","step":"until_summary"}"#,
        r#"{"type":"navigate_tree","entryId":"e","summarize":true,"step":"rest"}"#,
        r#"{"type":"set_label","entryId":"e","label":"l"}"#,
        r#"{"type":"set_label","entryId":"e"}"#,
        r#"{"type":"search_sessions","query":"a b"}"#,
        r#"{"type":"search_sessions","query":"a","cwd":"/p","since":5,"role":"user","limit":3}"#,
        r#"{"type":"compact","preview":true}"#,
        r#"{"type":"undo_compaction"}"#,
        r#"{"type":"get_cache_report"}"#,
        r#"{"type":"get_context_report"}"#,
        r#"{"type":"get_extension_costs"}"#,
        r#"{"type":"get_tools"}"#,
        r#"{"type":"set_active_tools","tools":["read"]}"#,
        r#"{"type":"get_requests"}"#,
        r#"{"type":"complete","text":"/c"}"#,
    ] {
        let command: Command = serde_json::from_str(line).unwrap();
        assert_eq!(crate::json::to_string(&command).unwrap(), line);
    }
}

#[test]
fn replies_round_trip_byte_for_byte() {
    for line in [
        r#"{"disposition":"started"}"#,
        r#"{"disposition":"queued"}"#,
        r#"{"disposition":"handled"}"#,
        r#"{"disposition":"done"}"#,
        r#"{"disposition":"done","data":null}"#,
        r#"{"disposition":"done","data":{"b":[1,0.5,"x\n"],"a":null}}"#,
    ] {
        let ack: Ack = serde_json::from_str(line).unwrap();
        assert_eq!(crate::json::to_string(&ack).unwrap(), line);
    }
    let line = r#"{"code":"noModel","message":"no model selected"}"#;
    let rejected: Rejected = serde_json::from_str(line).unwrap();
    assert_eq!(crate::json::to_string(&rejected).unwrap(), line);
}
