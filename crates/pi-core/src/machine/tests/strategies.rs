//! Strategies for random schedules and the outcomes of their effects.

use std::collections::VecDeque;

use pi_protocol::{CompactionDecision, Delivery, QueueMode, RecoveryFailure, StopReason};
use proptest::collection::vec;
use proptest::prelude::*;

use super::fixtures::{
    FOLLOW_UP, STEER, bash, custom, custom_message, deferred_prompt, hook_prompt, prompt_as,
    queued, system,
};
use super::script::{Script, ScriptedResponse, compact, recover};
use crate::machine::{CustomDelivery, Input};
use crate::tool::ExecutionMode;
use crate::turn::TurnDecision;

/// A step of a schedule.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// Advances one of the lanes that have something to do by some effects.
    Advance {
        lane: usize,
        tool: usize,
        count: usize,
    },
    Request(Request),
    /// Two clients answer the same request, which may have been answered before.
    Answer {
        place: usize,
        answers: [bool; 2],
    },
    /// Selects another model, and whether calls run in parallel.
    Select(ExecutionMode),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Request {
    Prompt(Option<Delivery>),
    HookPrompt,
    DeferPrompt,
    /// A queued message; several are shown with the same text.
    Enqueue(Delivery, bool),
    Custom(Option<bool>, Option<CustomDelivery>),
    Bash,
    ClearQueue,
    Abort,
    AbortRetry,
    AbortCompaction,
    AbortNavigation,
    Compact,
    Navigate,
    Close,
}

impl Request {
    /// Creates the input. Its number makes the message unique.
    pub(super) fn input(self, number: usize) -> Input {
        let name = format!("message {number}");
        match self {
            Self::Prompt(delivery) => prompt_as(&name, delivery),
            Self::HookPrompt => hook_prompt(&name),
            Self::DeferPrompt => deferred_prompt(&name),
            Self::Enqueue(delivery, is_equal) => {
                let shown = if is_equal { "same" } else { &name };
                queued(&name, shown, delivery)
            }
            Self::Custom(trigger, deliver_as) => custom(&name, trigger, deliver_as),
            Self::Bash => bash(&name),
            Self::ClearQueue => Input::ClearQueue,
            Self::Abort => Input::Abort,
            Self::AbortRetry => Input::AbortRetry,
            Self::AbortCompaction => Input::AbortCompaction,
            Self::AbortNavigation => Input::AbortNavigation,
            Self::Compact => Input::Compact,
            Self::Navigate => Input::Navigate,
            Self::Close => Input::Close,
        }
    }
}

fn requests() -> impl Strategy<Value = Request> {
    let delivery = prop_oneof![Just(Delivery::Steer), Just(Delivery::FollowUp)];
    let deliver_as = prop_oneof![
        Just(None),
        Just(Some(CustomDelivery::Steer)),
        Just(Some(CustomDelivery::FollowUp)),
        Just(Some(CustomDelivery::NextTurn)),
    ];
    prop_oneof![
        12 => prop_oneof![Just(None), Just(STEER), Just(FOLLOW_UP)].prop_map(Request::Prompt),
        2 => Just(Request::HookPrompt),
        2 => Just(Request::DeferPrompt),
        8 => (delivery, any::<bool>()).prop_map(|(delivery, equal)| Request::Enqueue(delivery, equal)),
        8 => (any::<Option<bool>>(), deliver_as)
            .prop_map(|(trigger, deliver_as)| Request::Custom(trigger, deliver_as)),
        4 => Just(Request::Bash),
        3 => Just(Request::ClearQueue),
        2 => Just(Request::Abort),
        2 => Just(Request::AbortRetry),
        2 => Just(Request::AbortCompaction),
        1 => Just(Request::AbortNavigation),
        2 => Just(Request::Compact),
        2 => Just(Request::Navigate),
    ]
}

/// Schedules; one in eight closes the session.
pub(super) fn schedules() -> impl Strategy<Value = Vec<Action>> {
    let execution_mode = prop_oneof![
        Just(ExecutionMode::Parallel),
        Just(ExecutionMode::Sequential)
    ];
    let action = prop_oneof![
        30 => (0..8_usize, 0..4_usize, 1..8_usize)
            .prop_map(|(lane, tool, count)| Action::Advance { lane, tool, count }),
        10 => requests().prop_map(Action::Request),
        4 => (0..8_usize, any::<[bool; 2]>())
            .prop_map(|(place, answers)| Action::Answer { place, answers }),
        1 => execution_mode.prop_map(Action::Select),
    ];
    let close = prop_oneof![7 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (vec(action, 50..300), close).prop_map(|(mut actions, close)| {
        if let Some(place) = close {
            let place = place.index(actions.len());
            actions.insert(place, Action::Request(Request::Close));
        }
        actions
    })
}

fn responses() -> impl Strategy<Value = ScriptedResponse> {
    let call = prop::sample::select(vec![
        "a",
        "slow",
        "s",
        "fails",
        "last",
        "unknown",
        "blocked-last",
        "asks",
        "asks",
    ]);
    let calls = vec(call, 1..5);
    let response = prop_oneof![
        4 => Just(ScriptedResponse::text()),
        6 => calls.clone().prop_map(|calls| ScriptedResponse::calls(&calls)),
        1 => calls.prop_map(|calls| ScriptedResponse::calls(&calls).stop(StopReason::Length)),
        3 => Just(ScriptedResponse::overloaded()),
        2 => Just(ScriptedResponse::overflows()),
        1 => Just(ScriptedResponse::fails()),
        1 => Just(ScriptedResponse::HookFails),
    ];
    (response, any::<bool>()).prop_map(|(response, streams)| {
        if streams {
            response.streamed()
        } else {
            response
        }
    })
}

/// Values in random order, most of them the usual one.
fn mostly<T: Clone + std::fmt::Debug + 'static>(
    usual: T,
    others: Vec<T>,
) -> impl Strategy<Value = VecDeque<T>> {
    let others = prop::sample::select(others);
    let value = prop_oneof![2 => Just(usual), 1 => others];
    vec(value, 0..12).prop_map(VecDeque::from)
}

pub(super) fn scripts(faults: Faults) -> impl Strategy<Value = Script> {
    let decisions = || {
        let failed = CompactionDecision::Failed(RecoveryFailure::Overflow);
        mostly(CompactionDecision::Skip, vec![compact(), recover(), failed])
    };
    let panics = if faults == Faults::Panics {
        vec(prop::bool::weighted(0.05), 0..200).boxed()
    } else {
        Just(Vec::new()).boxed()
    };
    let records = if faults == Faults::Storage {
        vec(prop::bool::weighted(0.85), 0..60).boxed()
    } else {
        Just(Vec::new()).boxed()
    };
    let prompts = (
        vec(responses(), 0..16),
        mostly(true, vec![false]),
        mostly(Vec::new(), vec![vec![custom_message("added")]]),
        mostly(false, vec![true]),
    );
    let turns = (
        mostly(
            Ok(None),
            vec![Ok(Some(system())), Err("cannot compose".to_owned())],
        ),
        records,
        mostly(TurnDecision::Default, vec![TurnDecision::Continue]),
        mostly(false, vec![true]),
        panics,
    );
    let routes = mostly(Ok(()), vec![Err("no route".to_owned())]);
    let contexts = (decisions(), decisions(), decisions());
    let supervision = (any::<bool>(), mostly(true, vec![false]));
    let virtual_models = (any::<bool>(), routes, decisions(), supervision);
    let compactions = (
        mostly(true, vec![false]),
        mostly(true, vec![false]),
        mostly(true, vec![false]),
    );
    let all = (prompts, turns, contexts, virtual_models, compactions);
    all.prop_map(|(prompts, turns, contexts, virtual_models, compactions)| {
        let (responses, checks, added, handled) = prompts;
        let (compositions, records, decisions, settles, panics) = turns;
        let (before_prompt, between_turns, after_run) = contexts;
        let (is_virtual, routes, after_routing, supervision) = virtual_models;
        let (has_barrier, barriers) = supervision;
        let (omissions, plans, compactions) = compactions;
        Script {
            responses: responses.into(),
            checks,
            added: numbered(added),
            compositions,
            records: records.into(),
            decisions,
            before_prompt,
            between_turns,
            is_virtual,
            routes,
            after_routing,
            after_run,
            omissions,
            plans,
            compactions,
            settles,
            handled,
            has_barrier,
            barriers,
            panics: panics.into(),
        }
    })
}

/// Makes the messages of hooks unique.
fn numbered(
    added: VecDeque<Vec<pi_protocol::AgentMessage>>,
) -> VecDeque<Vec<pi_protocol::AgentMessage>> {
    let numbered = added.into_iter().enumerate().map(|(number, messages)| {
        let name = format!("added {number}");
        messages.iter().map(|_| custom_message(&name)).collect()
    });
    numbered.collect()
}

pub(super) fn modes() -> impl Strategy<Value = QueueMode> {
    prop_oneof![Just(QueueMode::All), Just(QueueMode::OneAtATime)]
}

/// What fails at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Faults {
    None,
    Storage,
    Panics,
}
