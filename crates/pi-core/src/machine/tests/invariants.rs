//! What holds in every simulation: after each step, and when nothing is left to do.

use std::collections::{BTreeMap, HashMap, HashSet};

use pi_protocol::{ActivityKind, AgentMessage, SessionEvent};
use pretty_assertions::assert_eq;

use super::fixtures::label;
use super::lane::{SimulatedLane, Work};
use super::log;
use super::simulation::Simulation;
use crate::machine::context::Deferred;
use crate::machine::{CancelScope, Effect, Rejection, Reply};

/// Checks the machine after a step.
pub(super) fn check_step(simulation: &Simulation) {
    check_one_activity(simulation);
    check_cancellation(simulation);
    // A message that is in two places stays there, so that it is found later.
    if simulation.steps.is_multiple_of(16) {
        check_places(&places(simulation));
    }
    let machine = &simulation.machine;
    let is_running = machine.activity() == ActivityKind::Running;
    let waiting = &machine.context.waiting;
    assert!(is_running || (waiting.custom.is_empty() && waiting.bash.is_empty()));
    let streams = |lane: &SimulatedLane| matches!(lane.work, Some(Work::Stream { .. }));
    assert!(machine.streaming().is_none() || simulation.lanes.iter().any(streams));
}

fn check_places(places: &BTreeMap<String, Vec<&'static str>>) {
    for (label, places) in places {
        assert_eq!(places.len(), 1, "{label} is in {places:?}");
    }
}

/// Every activity has exactly one lane that continues it: the session never waits for nothing, and no two runs are in
/// progress.
fn check_one_activity(simulation: &Simulation) {
    let mut outstanding = 0;
    let mut has_tools = false;
    for lane in &simulation.lanes {
        let waits = lane.effects.iter().filter(|effect| effect.has_outcome());
        let count = waits.count() + usize::from(lane.work.is_some());
        let last_waits = lane.effects.back().is_some_and(Effect::has_outcome);
        assert!(
            count == 0 || lane.work.is_some() || last_waits,
            "an effect with an outcome is followed by others: {:?}",
            lane.effects
        );
        outstanding += count + usize::from(lane.is_about_to_navigate());
        has_tools |= lane.has_tools();
    }
    let is_idle = simulation.machine.activity() == ActivityKind::Idle;
    assert!(outstanding <= 1, "{outstanding} effects are outstanding");
    assert_eq!(is_idle, outstanding == 0 && !has_tools);
}

/// A request to cancel something never affects what begins later.
fn check_cancellation(simulation: &Simulation) {
    let machine = &simulation.machine;
    for scope in &simulation.canceled {
        let is_in_progress = match scope {
            CancelScope::Run => matches!(
                machine.activity(),
                ActivityKind::Preparing | ActivityKind::Running | ActivityKind::Settling
            ),
            CancelScope::Retry => machine.is_retrying(),
            CancelScope::Compaction => machine.is_compacting(),
            CancelScope::Navigation => machine.activity() == ActivityKind::Navigating,
        };
        assert!(is_in_progress, "{scope:?} stays canceled");
    }
}

/// Returns where each message of a client is.
fn places(simulation: &Simulation) -> BTreeMap<String, Vec<&'static str>> {
    let machine = &simulation.machine;
    let stored = simulation.store.iter().filter_map(|message| label(message));
    let queued = machine.queue().iter();
    let queued = queued.filter_map(|queued| label(&queued.message));
    let waiting = &machine.context.waiting;
    let custom = waiting.custom.iter().filter_map(label);
    let bash = waiting.bash.iter();
    let bash = bash.map(|message| message.command.clone());
    let next_turn = waiting.next_turn.iter().filter_map(label);
    let deferred = waiting
        .deferred
        .iter()
        .filter_map(|deferred| match deferred {
            Deferred::Prompt(prompt) => Some(prompt.text.clone()),
            Deferred::Message(message) => label(message),
        });
    let named = |name| move |label| (label, name);
    let all = stored
        .map(named("stored"))
        .chain(queued.map(named("queued")))
        .chain(custom.chain(bash).map(named("waiting")))
        .chain(next_turn.map(named("next turn")))
        .chain(deferred.map(named("deferred")))
        .chain(simulation.cleared.iter().cloned().map(named("cleared")))
        .chain(simulation.dropped.iter().cloned().map(named("dropped")));
    let mut places: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (label, place) in all {
        places.entry(label).or_default().push(place);
    }
    places
}

/// Checks a session that has nothing left to do.
pub(super) fn check_end(simulation: &Simulation) {
    let machine = &simulation.machine;
    assert_eq!(simulation.ready_lanes(), [] as [usize; 0]);
    assert_eq!(machine.activity(), ActivityKind::Idle);
    assert!(machine.streaming().is_none());
    let deferred = &machine.context.waiting.deferred;
    assert!(deferred.is_empty(), "{deferred:?}");
    assert_eq!(machine.retry_attempt(), 0);
    assert_eq!(simulation.canceled, HashSet::new());
    check_messages(simulation);
    check_tool_results(simulation);
    let can_fail = has_storage_failed(simulation) || simulation.has_panicked;
    check_log(&simulation.log, can_fail);
    check_shown_queue(simulation);
    check_answers(simulation);
}

/// Every request was asked, and one answer at most was accepted for each time it was asked.
fn check_answers(simulation: &Simulation) {
    let mut accepted: HashMap<&str, usize> = HashMap::new();
    for lane in &simulation.lanes {
        let Some(request) = &lane.answers else {
            continue;
        };
        if lane.replies == [Reply::Done] {
            *accepted.entry(&request.0).or_default() += 1;
        } else {
            assert!(matches!(lane.replies[..], [Reply::AnswerRejected(_)]));
        }
    }
    for (request, count) in accepted {
        let asked = format!("asked {request}");
        let asked = simulation.log.iter().filter(|line| **line == asked).count();
        assert!(count <= asked, "{request} was answered {count} times");
    }
}

pub(super) fn has_storage_failed(simulation: &Simulation) -> bool {
    simulation.log.iter().any(|line| line == "reload")
}

/// Every accepted message is in one place, rejected ones are nowhere, and a closed session accepts nothing.
fn check_messages(simulation: &Simulation) {
    let places = places(simulation);
    check_places(&places);
    for (number, lane) in simulation.lanes.iter().enumerate() {
        let Some(label) = &lane.label else { continue };
        let reply = lane.replies.first();
        assert!(reply.is_some() || !lane.needs_reply, "{label} has no reply");
        let is_kept = places.contains_key(label);
        match reply {
            Some(Reply::Rejected(_)) => assert!(!is_kept, "{label} was rejected: {places:?}"),
            _ => assert!(is_kept, "{label} is lost: {places:?}"),
        }
        let is_after_close = simulation.closed_by.is_some_and(|closed| closed < number);
        if is_after_close {
            assert_eq!(reply, Some(&Reply::Rejected(Rejection::Closed)));
        }
    }
}

/// Results directly follow the response with their calls, in call order.
fn check_tool_results(simulation: &Simulation) {
    let store = &simulation.store;
    let id_of = |message: &AgentMessage| match message {
        AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
        _ => None,
    };
    let mut paired = 0;
    for (place, message) in store.iter().enumerate() {
        let AgentMessage::Assistant(response) = &**message else {
            continue;
        };
        let calls: Vec<_> = response.tool_calls().map(|call| call.id.clone()).collect();
        let later = store[place + 1..].iter();
        let results: Vec<_> = later.map_while(|message| id_of(message)).collect();
        paired += results.len();
        let is_incomplete =
            simulation.was_interrupted || simulation.has_panicked || has_storage_failed(simulation);
        if is_incomplete {
            assert!(calls.starts_with(&results), "{calls:?} {results:?}");
        } else {
            assert_eq!(calls, results);
        }
    }
    let all = store.iter().filter_map(|message| id_of(message));
    assert_eq!(all.count(), paired, "a result has no call");
}

/// Everything that starts ends, in order.
fn check_log(log: &[String], can_fail: bool) {
    let mut open: HashMap<&str, i64> = HashMap::new();
    let mut tools: HashSet<&str> = HashSet::new();
    let mut asked: HashSet<&str> = HashSet::new();
    let mut attempt = "0".to_owned();
    for (place, line) in log.iter().enumerate() {
        let (event, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (name, change) = match event {
            "agent_start" => ("agent", 1),
            "agent_end" => ("agent", -1),
            "turn_start" => ("turn", 1),
            "turn_end" => {
                assert_eq!(tools, HashSet::new(), "calls of the turn are open");
                assert_eq!(asked, HashSet::new(), "requests of the turn are open");
                ("turn", -1)
            }
            "start" => {
                if can_fail {
                    open.insert("message", 0);
                }
                ("message", 1)
            }
            "end" => ("message", -1),
            "tool" => {
                assert!(tools.insert(rest));
                continue;
            }
            "asked" => {
                assert!(tools.contains(rest));
                assert!(asked.insert(rest));
                continue;
            }
            "resolved" => {
                let request = rest.split_once(' ').map_or(rest, |(request, _)| request);
                assert!(asked.remove(request), "{line} was not asked");
                continue;
            }
            "tool_end" if rest.starts_with("asks") => {
                let allowed = format!("resolved {rest} allow");
                let mut earlier = log[..place].iter().rev();
                let last = earlier.find(|line| line.starts_with(&format!("resolved {rest} ")));
                assert_eq!(last, Some(&allowed));
                assert!(tools.remove(rest));
                continue;
            }
            "tool_end" | "tool_failed" => {
                assert!(tools.remove(rest));
                continue;
            }
            "retry_start" => {
                rest.clone_into(&mut attempt);
                continue;
            }
            "retry_end" => {
                assert!(rest.starts_with(&attempt), "{rest} ends attempt {attempt}");
                "0".clone_into(&mut attempt);
                continue;
            }
            "settled" => {
                assert_eq!(attempt, "0");
                assert_eq!(open.get("agent"), Some(&0));
                continue;
            }
            _ => continue,
        };
        let count = open.entry(name).or_default();
        *count += change;
        assert!((0..=1).contains(count), "{line} in {log:#?}");
        if name == "turn" {
            assert_eq!(open.get("agent"), Some(&1), "a turn outside of a run");
        }
    }
    let left = open.iter().find(|(_, count)| **count != 0);
    assert_eq!(left, None);
    let count = |prefix: &str| log.iter().filter(|line| line.starts_with(prefix)).count();
    assert_eq!(count("compaction_start"), count("compaction_end"));
}

/// The last published queue is the current one.
fn check_shown_queue(simulation: &Simulation) {
    let texts = simulation.machine.queue().texts();
    let current = log::line(&SessionEvent::QueueUpdate {
        steering: texts.steering,
        follow_up: texts.follow_up,
    });
    let mut updates = simulation.log.iter().rev();
    let shown = updates.find(|line| line.starts_with("queue"));
    let empty = "queue [] []".to_owned();
    assert_eq!(shown.unwrap_or(&empty), &current);
}
