//! What the session is doing: the working indicator, the footer, the title and the terminal's progress.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use pi_protocol::{AgentEvent, CompactionReason, SessionEvent, StreamPhase};

use super::extensions::ExtensionMsg;
use super::prompt::PromptMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::display_command::DisplayCommand;
use crate::screen::title;
use crate::session::command::SessionCommand;
use crate::session::snapshot::ProviderInfo;
use crate::transcript::{NoticeLevel, TranscriptMsg};
use pi_views::working_indicator::Activity;

/// The end of longer runs is reported to a user who may look elsewhere.
const LONG_RUN: Duration = Duration::from_secs(30);

/// Sessions with at most this many entries are counted without delay.
const COUNTED_AT_ONCE: usize = 400;

/// The provider whose subscription does not cover third-party programs.
const ANTHROPIC: &str = "anthropic";

#[derive(Debug)]
pub(crate) enum StatusMsg {
    RunStarted,
    TurnStarted,
    /// A run has ended for good: nothing is retried, compacted or queued.
    Settled,
    QueueChanged,
    NameChanged,
    /// Commands of MCP servers may have changed.
    CommandsChanged,
    ThinkingChanged,
    CompactionStarted {
        is_automatic: bool,
    },
    CompactionEnded {
        will_retry: bool,
    },
    RetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay: Duration,
    },
    RetryEnded,
    ShellOutput(String),
    Phase(Option<StreamPhase>),
    /// Sets the activity that the session does not report, such as a branch summary.
    Show(Activity),
    /// Something that the footer shows may have changed.
    Refresh,
    UsageCounted {
        session: String,
        is_counted: bool,
    },
    /// The model or its credentials changed.
    ModelChanged,
    Providers(ProviderInfo),
    /// Warns about extra usage, where that applies and has not been done.
    CheckExtraUsage,
    SessionReplaced,
    SessionShown,
}

impl StatusMsg {
    /// Returns the message for a session event, if there is one. Deltas of messages have none.
    pub(crate) fn of(event: &SessionEvent) -> Option<Self> {
        Some(match event {
            SessionEvent::Agent(AgentEvent::AgentStart) => Self::RunStarted,
            SessionEvent::Agent(AgentEvent::TurnStart) => Self::TurnStarted,
            SessionEvent::Agent(AgentEvent::MessageEnd { .. } | AgentEvent::TurnEnd { .. })
            | SessionEvent::AgentEnd { .. }
            | SessionEvent::ObserversChanged { .. }
            | SessionEvent::ModelChanged { .. } => Self::Refresh,
            SessionEvent::AgentSettled { .. } => Self::Settled,
            SessionEvent::QueueUpdate { .. } => Self::QueueChanged,
            SessionEvent::McpStatus { .. } => Self::CommandsChanged,
            SessionEvent::SessionInfoChanged { .. } => Self::NameChanged,
            SessionEvent::ThinkingLevelChanged { .. } => Self::ThinkingChanged,
            SessionEvent::CompactionStart { reason } => Self::CompactionStarted {
                is_automatic: *reason != CompactionReason::Manual,
            },
            SessionEvent::CompactionEnd { will_retry, .. } => Self::CompactionEnded {
                will_retry: *will_retry,
            },
            SessionEvent::AutoRetryStart {
                attempt,
                max_attempts,
                delay_ms,
                ..
            }
            | SessionEvent::SummarizationRetryScheduled {
                attempt,
                max_attempts,
                delay_ms,
                ..
            } => Self::RetryScheduled {
                attempt: *attempt,
                max_attempts: *max_attempts,
                delay: Duration::from_millis(*delay_ms),
            },
            SessionEvent::AutoRetryEnd { .. }
            | SessionEvent::SummarizationRetryAttemptStart { .. }
            | SessionEvent::SummarizationRetryFinished => Self::RetryEnded,
            SessionEvent::BashExecutionUpdate { delta, .. } => Self::ShellOutput(delta.clone()),
            _ => return None,
        })
    }
}

/// What is known about the run and the usage of the session.
#[derive(Debug, Default)]
pub(crate) struct StatusController {
    /// When the current run started.
    run_started: Option<Instant>,
    /// Whether the session's past usage has been counted; afterwards the session keeps the totals up to date.
    usage_counted: bool,
    /// Whether that count is running in the background.
    counting: bool,
    providers: ProviderInfo,
    /// Whether the extra-usage warning has been shown.
    extra_usage_warned: bool,
}

impl StatusController {
    pub(crate) fn providers(&self) -> ProviderInfo {
        self.providers
    }

    pub(crate) fn update(&mut self, message: StatusMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            StatusMsg::RunStarted => {
                self.run_started.get_or_insert(ctx.now);
                let mut commands = vec![show(Activity::Working)];
                commands.extend(set_progress(true, ctx));
                commands
            }
            StatusMsg::TurnStarted => vec![show(Activity::Working)],
            StatusMsg::Settled => self.settled(ctx),
            StatusMsg::QueueChanged => vec![AppCommand::send(PromptMsg::QueueChanged)],
            StatusMsg::NameChanged => {
                let mut commands = vec![set_title(ctx)];
                commands.extend(self.refresh_footer(ctx));
                commands
            }
            StatusMsg::ThinkingChanged => {
                let mut commands = vec![AppCommand::send(PromptMsg::PaintBorder)];
                commands.extend(self.refresh_footer(ctx));
                commands
            }
            StatusMsg::CompactionStarted { is_automatic } => {
                let mut commands = vec![show(Activity::Compacting {
                    automatic: is_automatic,
                })];
                commands.extend(set_progress(true, ctx));
                commands
            }
            StatusMsg::CompactionEnded { will_retry } => {
                let mut commands = resume_activity(ctx);
                commands.extend(self.refresh_footer(ctx));
                if !will_retry {
                    commands.push(AppCommand::send(PromptMsg::SendHeld));
                }
                commands
            }
            StatusMsg::RetryScheduled {
                attempt,
                max_attempts,
                delay,
            } => vec![show(Activity::Retrying {
                attempt,
                max_attempts,
                until: ctx.now + delay,
            })],
            StatusMsg::RetryEnded => resume_activity(ctx),
            StatusMsg::ShellOutput(delta) => {
                vec![AppCommand::send(TranscriptMsg::BashOutput(delta))]
            }
            StatusMsg::Phase(phase) => vec![AppCommand::Display(DisplayCommand::SetPhase(phase))],
            StatusMsg::Show(activity) => vec![show(activity)],
            StatusMsg::Refresh => self.refresh_footer(ctx),
            StatusMsg::UsageCounted {
                session,
                is_counted,
            } => {
                self.counting = false;
                if session != ctx.session.id || !is_counted {
                    return Vec::new();
                }
                self.usage_counted = true;
                self.refresh_footer(ctx)
            }
            StatusMsg::ModelChanged => vec![
                AppCommand::RefreshProviders,
                AppCommand::send(StatusMsg::CheckExtraUsage),
                AppCommand::send(PromptMsg::PaintBorder),
                AppCommand::send(StatusMsg::Refresh),
                // The levels of `/thinking` depend on the model.
                AppCommand::RefreshCompletion,
            ],
            StatusMsg::CommandsChanged => vec![AppCommand::RefreshCompletion],
            StatusMsg::Providers(providers) => {
                self.providers = providers;
                if providers.ready {
                    vec![AppCommand::send(PromptMsg::ModelReady)]
                } else {
                    Vec::new()
                }
            }
            StatusMsg::CheckExtraUsage => self.warn_about_extra_usage(ctx),
            StatusMsg::SessionReplaced => {
                self.usage_counted = false;
                Vec::new()
            }
            StatusMsg::SessionShown => {
                let mut commands = vec![set_title(ctx), AppCommand::send(PromptMsg::PaintBorder)];
                // A session that another process runs may be in the middle of a run.
                commands.push(show(if ctx.session.activity.streaming {
                    Activity::Working
                } else {
                    Activity::Idle
                }));
                commands.extend(self.refresh_footer(ctx));
                commands
            }
        }
    }

    fn settled(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let mut commands = vec![show(Activity::Idle)];
        commands.extend(set_progress(false, ctx));
        commands.extend(self.refresh_footer(ctx));
        let started = self.run_started.take();
        if started.is_some_and(|started| ctx.now.duration_since(started) >= LONG_RUN) {
            let session = ctx.session.name.as_deref().unwrap_or("pi");
            commands.push(AppCommand::Display(DisplayCommand::Notify {
                kind: ctx.session.settings.terminal.notify(),
                text: format!("{session}: run finished"),
            }));
        }
        commands.push(AppCommand::send(ExtensionMsg::Settled));
        commands
    }

    /// Counting a long session reads all of it. That happens once, in the background; afterwards the session
    /// keeps count.
    fn refresh_footer(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        if self.usage_counted || ctx.session.entry_count <= COUNTED_AT_ONCE {
            self.usage_counted = true;
            return vec![AppCommand::RefreshFooter { with_usage: true }];
        }
        let mut commands = vec![AppCommand::RefreshFooter { with_usage: false }];
        if !std::mem::replace(&mut self.counting, true) {
            commands.push(AppCommand::Session(SessionCommand::CountUsage));
        }
        commands
    }

    /// Warns once that a subscription does not cover pi's usage, where that applies.
    fn warn_about_extra_usage(&mut self, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        let model = ctx.session.model.as_ref();
        let is_concerned = self.providers.subscription
            && model.is_some_and(|model| model.provider == ANTHROPIC)
            && ctx.session.settings.warn_anthropic_extra_usage();
        if !is_concerned || std::mem::replace(&mut self.extra_usage_warned, true) {
            return Vec::new();
        }
        vec![AppCommand::notify(
            NoticeLevel::Warning,
            "Anthropic bills third-party use of a Claude subscription as extra usage, per token, outside the plan. Check limits at https://claude.ai/settings/usage. Hide this warning in /settings.",
        )]
    }
}

fn show(activity: Activity) -> AppCommand {
    AppCommand::Display(DisplayCommand::SetActivity(activity))
}

fn set_title(ctx: &AppContext<'_>) -> AppCommand {
    let title = title::of(ctx.session.name.as_deref(), &ctx.session.cwd);
    AppCommand::Display(DisplayCommand::SetTitle(title))
}

fn set_progress(active: bool, ctx: &AppContext<'_>) -> Option<AppCommand> {
    let is_enabled = ctx.session.settings.terminal.show_terminal_progress();
    (is_enabled || !active).then_some(AppCommand::Display(DisplayCommand::SetProgress(active)))
}

/// Restores the activity that a compaction or a retry pause interrupted.
fn resume_activity(ctx: &AppContext<'_>) -> Vec<AppCommand> {
    let activity = if ctx.session.activity.streaming {
        Activity::Working
    } else {
        Activity::Idle
    };
    let mut commands: Vec<_> = set_progress(activity != Activity::Idle, ctx)
        .into_iter()
        .collect();
    commands.push(show(activity));
    commands
}
