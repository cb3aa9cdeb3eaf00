//! Questions to the user of the client: permission requests and forms.

use std::path::Path;

use pi_host::{DialogPrompt, DialogResponse, ExtensionDialog};
use pi_protocol::{
    Answer, FormAnswer, QuestionForm, Request, RequestKind, json_object, single_line,
};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::content::text_block;
use crate::feed::Feed;
use crate::tool_call;

const ALLOW: &str = "allow";
const ALLOW_FOR_SESSION: &str = "allow-for-session";
const REJECT: &str = "reject";

/// Longest title of a question, in characters.
const MAX_TITLE: usize = 300;

/// Asks whether a tool call may run. A client that cannot answer denies it.
pub(crate) async fn ask_approval(feed: &Feed, request: &Request, cwd: &Path) -> Answer {
    let RequestKind::Approval {
        tool_name,
        args,
        reason,
    } = &request.kind
    else {
        return Answer::Cancelled;
    };
    let arguments = Value::Object(args.clone());
    let mut content = tool_call::proposed_content(tool_name, &arguments, cwd);
    if let Some(reason) = reason {
        content.push(tool_call::content_item(text_block(reason)));
    }
    let call = json!({
        "toolCallId": feed.call_id(request.call.as_ref().unwrap_or(&request.id.0)),
        "title": tool_call::title(tool_name, &arguments),
        "kind": tool_call::kind(tool_name),
        "status": "pending",
        "rawInput": arguments,
        "locations": tool_call::locations(&arguments, cwd, None),
        "content": content,
    });
    let options = [
        option(ALLOW, "Allow", "allow_once"),
        option(ALLOW_FOR_SESSION, "Allow in this session", "allow_always"),
        option(REJECT, "Reject", "reject_once"),
    ];
    match ask_permission(feed, call, &options).await {
        Ok(Some(choice)) if choice == ALLOW => Answer::Allow,
        Ok(Some(choice)) if choice == ALLOW_FOR_SESSION => Answer::AllowForSession,
        Ok(_) => Answer::Deny { reason: None },
        Err(error) => Answer::Deny {
            reason: Some(format!("the client cannot ask for permission: {error}")),
        },
    }
}

fn option(id: &str, name: &str, kind: &str) -> Value {
    json!({"optionId": id, "name": name, "kind": kind})
}

/// Returns the ID of the chosen option; `None` if the question was canceled.
async fn ask_permission(
    feed: &Feed,
    call: Value,
    options: &[Value],
) -> Result<Option<String>, String> {
    let params = json_object([
        ("sessionId", feed.session_id.as_str().into()),
        ("toolCall", call),
        ("options", options.into()),
    ]);
    let asked = feed
        .connection
        .request("session/request_permission", params);
    let answer = asked.await.map_err(|error| error.message)?;
    let outcome = answer.get("outcome").unwrap_or(&Value::Null);
    if outcome.get("outcome").and_then(Value::as_str) != Some("selected") {
        return Ok(None);
    }
    let chosen = outcome.get("optionId").and_then(Value::as_str);
    Ok(chosen.map(str::to_owned))
}

/// Shows a dialog of an extension: as a form, or as a permission request to clients without forms.
pub(crate) async fn show_dialog(feed: &Feed, dialog: ExtensionDialog) -> DialogResponse {
    if feed.client.forms {
        return show_form(feed, &dialog.to_request().kind).await;
    }
    let id = dialog.id.as_str();
    match dialog.prompt {
        DialogPrompt::Select { title, options } => {
            let choices: Vec<Value> = options
                .iter()
                .enumerate()
                .map(|(index, name)| {
                    option(
                        &index.to_string(),
                        &single_line(name, MAX_TITLE),
                        "allow_once",
                    )
                })
                .collect();
            let chosen = ask_choice(feed, id, &title, "", choices).await;
            let chosen = chosen.and_then(|index| index.parse::<usize>().ok());
            let chosen = chosen.and_then(|index| options.into_iter().nth(index));
            chosen.map_or(DialogResponse::Cancelled, DialogResponse::Text)
        }
        DialogPrompt::Confirm { title, message } => {
            let choices = vec![option(ALLOW, "Yes", "allow_once")];
            match ask_choice(feed, id, &title, &message, choices).await {
                Some(choice) => DialogResponse::Confirmed(choice == ALLOW),
                None => DialogResponse::Cancelled,
            }
        }
        DialogPrompt::Input { title, .. } | DialogPrompt::Editor { title, .. } => {
            let message = format!(
                "{}\nThis question needs a client with forms (elicitation), or pi in a terminal.",
                single_line(&title, MAX_TITLE)
            );
            feed.notice("warning", &message).await;
            DialogResponse::Cancelled
        }
    }
}

/// Asks with a permission request that belongs to no tool call.
async fn ask_choice(
    feed: &Feed,
    id: &str,
    title: &str,
    message: &str,
    mut choices: Vec<Value>,
) -> Option<String> {
    choices.push(option(REJECT, "Cancel", "reject_once"));
    let mut call = json!({
        "toolCallId": id,
        "title": single_line(title, MAX_TITLE),
        "kind": "other",
        "status": "pending",
    });
    if let (false, Some(call)) = (message.is_empty(), call.as_object_mut()) {
        let content = vec![tool_call::content_item(text_block(message))];
        tool_call::insert_list(call, "content", content);
    }
    let chosen = ask_permission(feed, call, &choices).await.ok().flatten();
    chosen.filter(|choice| choice != REJECT || choices.len() == 2)
}

async fn show_form(feed: &Feed, question: &RequestKind) -> DialogResponse {
    let scope = json!({ "sessionId": feed.session_id });
    let answer = ask_form(&feed.connection, scope, question.form()).await;
    question.answer_of(answer).into()
}

/// Shows a form. `scope` names the session or the request that the question belongs to.
pub(crate) async fn ask_form(
    connection: &Connection,
    scope: Value,
    form: QuestionForm,
) -> FormAnswer {
    let mut params = scope;
    if let Some(params) = params.as_object_mut() {
        params.extend(form.into_params());
    }
    match connection.request("elicitation/create", params).await {
        Ok(answer) => FormAnswer::of(&answer),
        Err(error) => {
            tracing::debug!(error = error.message, "the client rejected a form");
            FormAnswer::Cancelled
        }
    }
}
