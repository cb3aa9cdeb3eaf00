//! The events that the program sends to extensions, each with the combined result of its handlers.
//!
//! Handlers run in JavaScript, and `js/pi/dispatch.js` combines their results. Members that are
//! absent are undefined in JavaScript, not null.

mod lifecycle;
mod results;
mod run;
mod summaries;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use lifecycle::{
    AgentEnded, AgentSettled, BeforeFork, BeforeSwitch, ModelSelect, ProjectTrust,
    ResourcesDiscover, SessionInfoChanged, SessionShutdownEvent, SessionStartEvent,
    ThinkingLevelSelect, UiPrompt, UiPromptEnd, UiPromptStart,
};
pub use results::{
    CancelResult, ContextResult, DiscoveredPath, DiscoveredResources, DraftedEntries,
};
pub use run::{
    AfterProviderResponse, AgentStarted, BeforeAgentStart, BeforeProviderHeaders,
    BeforeProviderRequest, BeforeSettle, BoundaryContextData, ContextEvent, ContextWithSystem,
    InputEvent, MessageEnd, MessageStart, MessageUpdate, ProviderStreamEvent, ToolCallEvent,
    ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate, ToolResultEvent, TurnEnd, TurnStart,
    UserBash,
};
pub use summaries::{
    BeforeCompact, BeforeTree, CompactionDone, CompactionFailure, CompactionPreparation, FileLists,
    SummarySettings, TreeNavigated, TreePreparation,
};

/// An event for extensions.
pub trait ExtensionEvent: Serialize {
    const NAME: &'static str;
    type Result: EventResult;
}

/// The combined result of an event's handlers.
pub trait EventResult: Sized {
    /// Parses a result; `None` if there is none or if it is invalid.
    fn from_json(value: Value) -> Option<Self>;
}

/// For events whose handlers return nothing.
impl EventResult for () {
    fn from_json(_: Value) -> Option<Self> {
        None
    }
}

/// Parses a result with its `Deserialize` implementation.
fn parse<Data: DeserializeOwned>(value: &Value) -> Option<Data> {
    if value.is_null() {
        return None;
    }
    pi_protocol::json::from_value(value).ok()
}

/// Declares the names and results of events.
macro_rules! events {
    ($( $event:ty => $name:literal $(-> $result:ty)? ; )*) => {
        $(
            impl $crate::events::ExtensionEvent for $event {
                const NAME: &'static str = $name;
                type Result = $crate::events::result_type!($($result)?);
            }
        )*

        /// Each event, and whether its handlers return a result.
        #[cfg(test)]
        pub(crate) const DECLARED: &[(&str, bool)] = &[$(
            ($name, $crate::events::has_result!($($result)?)),
        )*];
    };
}

macro_rules! result_type {
    () => {
        ()
    };
    ($result:ty) => {
        $result
    };
}

#[cfg(test)]
macro_rules! has_result {
    () => {
        false
    };
    ($result:ty) => {
        true
    };
}

#[cfg(test)]
use has_result;
use {events, result_type};

#[derive(Serialize)]
struct Tagged<'a, Event> {
    r#type: &'static str,
    #[serde(flatten)]
    event: &'a Event,
}

/// Serializes an event, with its type as the first member.
pub(crate) fn to_json<Event: ExtensionEvent>(event: &Event) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(Tagged {
        r#type: Event::NAME,
        event,
    })?;
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_type_comes_first_and_absent_members_are_left_out() {
        let event = SessionInfoChanged { name: Some("n") };
        let text = to_json(&event).unwrap().to_string();
        assert_eq!(text, r#"{"type":"session_info_changed","name":"n"}"#);
        let event = SessionInfoChanged { name: None };
        let value = to_json(&event).unwrap();
        assert_eq!(value, json!({ "type": "session_info_changed" }));
    }

    #[test]
    fn javascript_combines_the_results_of_exactly_the_events_that_have_one() {
        let source = include_str!("../../pi-ext/js/pi/dispatch.js");
        let rules = source.split_once("const rules = {").unwrap().1;
        let rules = rules.split_once("\n};").unwrap().0;
        let rules: BTreeSet<&str> = rules
            .lines()
            .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
            .filter_map(|line| {
                let name = line.trim().trim_start_matches("async ");
                name.split_once([':', '('])
            })
            .map(|(name, _)| name)
            .collect();
        let declared = [lifecycle::DECLARED, run::DECLARED, summaries::DECLARED].concat();
        let with_result = declared.into_iter().filter(|(_, has_result)| *has_result);
        let with_result: BTreeSet<&str> = with_result.map(|(name, _)| name).collect();
        assert_eq!(rules, with_result);
    }
}
