//! What a session of another process is doing, folded from its events.

use pi_protocol::{
    ActivityKind, AgentEvent, AgentMessage, AssistantMessage, Delivery, LiveMessage, QueuedTexts,
    Request, SessionActivity, SessionEvent, Snapshot,
};

/// The part of the state that is not in the session file.
#[derive(Debug, Clone, Default)]
pub struct RemoteState {
    pub activity: SessionActivity,
    /// Whether a shell command of a user runs.
    pub is_running_shell: bool,
    pub queue: QueuedTexts,
    pub auto_compaction: bool,
    /// The response that is being streamed.
    pub live: Option<LiveMessage>,
    /// Number of clients, this one included.
    pub observers: usize,
    /// Requests that wait for an answer.
    pub(super) pending: Vec<Request>,
}

impl RemoteState {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let texts = |delivery: Delivery| {
            let queued = snapshot.queue.iter();
            let queued = queued.filter(|queued| queued.delivery == delivery);
            queued.filter_map(|queued| queued.text.clone()).collect()
        };
        Self {
            activity: snapshot.status,
            is_running_shell: false,
            queue: QueuedTexts {
                steering: texts(Delivery::Steer),
                follow_up: texts(Delivery::FollowUp),
            },
            auto_compaction: snapshot.auto_compaction_enabled,
            live: None,
            observers: snapshot.observers,
            pending: snapshot.pending.clone(),
        }
    }

    /// Applies an event, and adds to it what its JSON form does not have.
    pub(super) fn fold(&mut self, event: &mut SessionEvent) {
        let activity = &mut self.activity;
        match event {
            SessionEvent::Agent(AgentEvent::AgentStart) => activity.kind = ActivityKind::Running,
            SessionEvent::AgentEnd { .. } => {
                activity.kind = ActivityKind::Settling;
                self.live = None;
            }
            SessionEvent::AgentSettled { .. } => {
                *activity = SessionActivity::default();
                self.live = None;
            }
            SessionEvent::CompactionStart { .. } => {
                activity.is_compacting = true;
                if activity.kind == ActivityKind::Idle {
                    activity.kind = ActivityKind::Compacting;
                }
            }
            SessionEvent::CompactionEnd { .. } => {
                activity.is_compacting = false;
                if activity.kind == ActivityKind::Compacting {
                    activity.kind = ActivityKind::Idle;
                }
            }
            SessionEvent::AutoRetryStart { .. } => activity.is_retrying = true,
            SessionEvent::AutoRetryEnd { .. } => activity.is_retrying = false,
            SessionEvent::QueueUpdate {
                steering,
                follow_up,
            } => {
                self.queue = QueuedTexts {
                    steering: steering.clone(),
                    follow_up: follow_up.clone(),
                };
            }
            SessionEvent::ObserversChanged { count } => self.observers = *count,
            SessionEvent::BashExecutionStart { .. } => self.is_running_shell = true,
            SessionEvent::BashExecutionEnd { .. } => self.is_running_shell = false,
            SessionEvent::Agent(AgentEvent::MessageStart { message }) => {
                if let AgentMessage::Assistant(message) = &**message {
                    // Its content follows as updates, also what it has already.
                    self.live = Some(LiveMessage::copy_of(AssistantMessage {
                        content: Vec::new(),
                        ..AssistantMessage::clone(message)
                    }));
                }
            }
            SessionEvent::Agent(AgentEvent::MessageUpdate {
                usage,
                assistant_message_event,
                live,
            }) => {
                let copy = self.live.get_or_insert_default();
                copy.apply(assistant_message_event, usage);
                *live = Some(copy.clone());
            }
            SessionEvent::Agent(AgentEvent::MessageEnd { message }) => {
                if matches!(&**message, AgentMessage::Assistant(_)) {
                    self.live = None;
                }
            }
            _ => {}
        }
    }
}

/// Whether entries may have been stored before this event: those that only report progress store none.
pub(super) fn may_store(event: &SessionEvent) -> bool {
    !matches!(
        event,
        SessionEvent::Agent(
            AgentEvent::MessageUpdate { .. }
                | AgentEvent::MessageStart { .. }
                | AgentEvent::ToolExecutionStart { .. }
                | AgentEvent::ToolExecutionUpdate { .. }
        ) | SessionEvent::BashExecutionUpdate { .. }
            | SessionEvent::QueueUpdate { .. }
    )
}
