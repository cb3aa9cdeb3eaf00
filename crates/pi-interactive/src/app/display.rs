//! The screen with everything on it: transcript, prompt, dialogs, extension components.

mod extensions;
mod header;
mod prompt;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_env::Env;
use pi_host::ComponentId;
use pi_protocol::settings::{RunNotification, Settings};
use pi_tui::{ColorToken, Keybindings, ListenerId, ProgramStatus, Runner, RunnerError, ScreenMode};
use pi_views::dialogs::dialog::Dialog;
use pi_views::keys::UpwardScroll;
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::UiTheme;

use self::header::HeaderBlocks;
use super::command::AppCommand;
use super::display_command::{ContextChange, DisplayCommand};
use super::message::AppMsg;
use crate::blocks::clean_line;
use crate::controllers::terminal::TerminalMsg;
use crate::extensions::bridge::{ComponentTask, ExtensionUiBridge};
use crate::prompt::double_press::DoublePress;
use crate::screen::AppScreen;
use crate::screen::title::WindowTitle;
use crate::session::history::SessionHistory;
use crate::terminal::setup::{apply_to_screen, screen_mode};
use crate::transcript::{GapEnd, Transcript, TranscriptMsg};
use pi_views::working_indicator::WorkingIndicator;

/// Number of screens above the viewport for which older entries are loaded.
const LOADED_AHEAD: usize = 2;

/// How long a hint is shown.
const HINT_TIME: Duration = Duration::from_secs(3);

/// Performs display commands on the screen, and publishes the screen's state to extensions.
pub(crate) struct Display {
    pub(crate) screen: AppScreen,
    pub(crate) ui: UiTheme,
    pub(crate) bridge: ExtensionUiBridge,
    pub(crate) transcript: Transcript,
    env: Env,
    settings: Arc<Settings>,
    title: WindowTitle,
    border: ColorToken,
    header: HeaderBlocks,
    /// The component that replaces the built-in header, and whether it wants key releases.
    extension_header: Option<(ComponentId, bool)>,
    /// Text of the extension's editor.
    editor_text: String,
    raw_listener: Option<ListenerId>,
    /// Removes an unresponsive component when the clear key is pressed twice.
    stuck_key: DoublePress,
    /// Lines of the transcript above the viewport after the last input.
    lines_above: Option<usize>,
}

impl Display {
    pub(crate) fn new(
        screen: AppScreen,
        ui: UiTheme,
        bridge: ExtensionUiBridge,
        env: Env,
        settings: Arc<Settings>,
    ) -> Self {
        Self {
            transcript: Transcript::new(ui.clone(), bridge.clone()),
            screen,
            ui,
            bridge,
            env,
            settings,
            title: WindowTitle::default(),
            border: ColorToken::BorderMuted,
            header: HeaderBlocks::default(),
            extension_header: None,
            editor_text: String::new(),
            raw_listener: None,
            stuck_key: DoublePress::default(),
            lines_above: None,
        }
    }

    /// Performs a command; returns what the controllers must know about it.
    pub(crate) fn perform(&mut self, command: DisplayCommand) -> Vec<AppMsg> {
        let now = Instant::now();
        match command {
            DisplayCommand::SetPrompt(text) => return self.set_prompt(&text),
            DisplayCommand::InsertAtPrompt(text) => return self.insert_at_prompt(text),
            DisplayCommand::AddToHistory(text) => self.add_to_history(text),
            DisplayCommand::PaintBorder(token) => self.paint_border(token),
            DisplayCommand::TouchPrompt => self.screen.with_editor(|_| ()),
            DisplayCommand::SetQueue(waiting) => self.screen.with_queue(|queue| queue.set(waiting)),
            DisplayCommand::SetActivity(activity) => {
                self.screen
                    .with_working(|working| working.set(activity, now));
            }
            DisplayCommand::SetPhase(phase) => {
                self.screen
                    .with_working(|working| working.set_phase(phase, now));
            }
            DisplayCommand::SetProgress(active) => {
                log(self.screen.runner().set_progress(active));
            }
            DisplayCommand::SetTitle(title) => {
                let title = self.title.rename(title);
                log(self.screen.runner().set_title(&title));
            }
            DisplayCommand::Notify { kind, text } => notify(self.screen.runner(), kind, &text),
            DisplayCommand::Flash(hint) => {
                self.screen.runner().tui_mut().flash(&hint, HINT_TIME, now);
            }
            DisplayCommand::CopyToTerminal(text) => log(self.screen.runner().copy(&text)),
            DisplayCommand::ReleaseTerminal => {
                let released = self.screen.runner().release_terminal();
                let released = released.map_err(|error| pi_host::describe_error(&error));
                return vec![TerminalMsg::Released(released).into()];
            }
            DisplayCommand::ReclaimTerminal => {
                let reclaimed = self.screen.runner().reclaim_terminal();
                self.screen.runner().tui_mut().repaint();
                let reclaimed = reclaimed.map_err(|error| pi_host::describe_error(&error));
                return vec![TerminalMsg::Reclaimed(reclaimed).into()];
            }
            DisplayCommand::ViewScrollback => log(self.screen.runner().view_scrollback()),
            DisplayCommand::LeaveScrollback => {
                log(self.screen.runner().set_mode(ScreenMode::Main));
            }
            DisplayCommand::ApplySettings { settings, cwd } => {
                self.update_context(ContextChange::new({
                    let settings = Arc::clone(&settings);
                    move |context| {
                        context.apply(&settings);
                        context.cwd = cwd;
                    }
                }));
                return self.apply_settings(settings);
            }
            DisplayCommand::SetKeys(keys) => self.set_keys(*keys),
            DisplayCommand::UpdateContext(change) => self.update_context(change),
            DisplayCommand::PublishThemes {
                themes,
                has_changed,
            } => self.publish_themes(*themes, has_changed),
            DisplayCommand::PublishExpanded(expanded) => {
                self.bridge.set_facts(|facts| facts.expanded = expanded);
                self.bridge.redraw();
            }
            DisplayCommand::PublishBranch {
                branch,
                has_changed,
            } => {
                self.bridge.set_facts(|facts| facts.branch = branch);
                if has_changed {
                    self.bridge.enqueue(ComponentTask::BranchChanged);
                }
                self.bridge.redraw();
            }
            DisplayCommand::Extension(change) => return self.perform_extension(change),
        }
        Vec::new()
    }

    pub(crate) fn update_transcript(&mut self, message: TranscriptMsg) -> Vec<AppCommand> {
        let document = self.screen.document();
        self.transcript.update(message, document, Instant::now())
    }

    /// Removes everything from the transcript and from the terminal.
    pub(crate) fn clear(&mut self) {
        self.transcript.clear(self.screen.document());
        self.screen.runner().tui_mut().clear_terminal();
    }

    /// Loads entries before the user scrolls to where they are missing, and the first ones when the user goes to the
    /// start. At the line with their number each batch appears below it, so only an upward movement loads the next one:
    /// other input must not move the text.
    pub(crate) fn load_entries(
        &mut self,
        scroll: Option<UpwardScroll>,
        history: impl FnOnce() -> Arc<dyn SessionHistory>,
    ) {
        let tui = self.screen.peek();
        let rows = tui.size().rows;
        let near = LOADED_AHEAD * rows;
        let top = tui.lines_above();
        let last_top = std::mem::replace(&mut self.lines_above, top);
        let Some(top) = top else { return };
        let gaps = || self.transcript.gaps(tui.transcript());
        let above = gaps().rfind(|gap| gap.line <= top);
        let below = gaps().find(|gap| gap.line > top);
        let has_moved_up = scroll.is_some() || last_top.is_some_and(|last| top < last);
        let has_moved_down = last_top.is_some_and(|last| top > last);
        let loaded = match (above, below) {
            (Some(gap), _) if has_moved_up && top - gap.line < near => {
                let goes_to_start = top == 0 && scroll == Some(UpwardScroll::ToStart);
                let shows_start = goes_to_start && !gap.follows_loaded;
                let end = if shows_start {
                    GapEnd::First
                } else {
                    GapEnd::Last
                };
                Some((gap, end))
            }
            (_, Some(gap)) if has_moved_down && gap.line - top < near + rows => {
                Some((gap, GapEnd::First))
            }
            _ => None,
        };
        if let Some((gap, end)) = loaded {
            let document = self.screen.document();
            self.transcript.load(document, history().as_ref(), gap, end);
        }
    }

    /// Publishes the size to extensions and dialogs.
    pub(crate) fn resized(&mut self) {
        let rows = self.screen.peek().size().rows;
        self.screen.with_dialogs(|dialog| dialog.set_rows(rows));
        self.publish_size();
    }

    /// Returns when something on screen changes without input.
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        let editor = self.screen.editor().and_then(|it| it.peek().next_tick());
        let working = self.screen.working().and_then(WorkingIndicator::next_tick);
        let dialog = self.screen.dialog().and_then(Dialog::next_tick);
        let transcript = self
            .transcript
            .next_tick()
            .filter(|_| !self.screen.is_blocked());
        [editor, working, dialog, transcript]
            .into_iter()
            .flatten()
            .min()
    }

    /// Updates what is due.
    pub(crate) fn tick(&mut self, now: Instant) {
        let is_due = |tick: Option<Instant>| tick.is_some_and(|tick| tick <= now);
        if is_due(self.screen.editor().and_then(|it| it.peek().next_tick())) {
            self.screen.with_editor(|editor| editor.editor().tick(now));
        }
        if is_due(self.screen.working().and_then(WorkingIndicator::next_tick)) {
            self.screen.with_working(|working| working.tick(now));
        }
        if is_due(self.screen.dialog().and_then(Dialog::next_tick)) {
            self.screen.with_dialog(|dialog| dialog.tick(now));
        }
        if !self.screen.is_blocked() && is_due(self.transcript.next_tick()) {
            self.transcript.tick(self.screen.document(), now);
        }
    }

    /// Changes the render context; everything is laid out again.
    fn update_context(&mut self, change: ContextChange) {
        self.ui.update(|context| change.apply(context));
        self.screen.runner().tui_mut().invalidate();
    }

    fn set_keys(&mut self, keys: Keybindings) {
        let shared = Arc::new(keys.clone());
        self.screen.runner().tui_mut().set_keybindings(keys);
        self.update_context(ContextChange::new(move |context| context.keys = shared));
    }

    fn apply_settings(&mut self, settings: Arc<Settings>) -> Vec<AppMsg> {
        let options = self.screen.runner().tui_mut().render_options_mut();
        apply_to_screen(&settings, &self.env, options);
        let padding = usize::from(settings.editor_padding_x());
        let completions = usize::from(settings.autocomplete_max_visible());
        self.screen.with_editor(|area| {
            area.editor().set_padding(padding);
            area.editor().set_max_completions(completions);
        });
        let mode = screen_mode(&settings);
        self.settings = settings;
        if self.screen.peek().mode() == mode {
            return Vec::new();
        }
        log(self.screen.runner().set_mode(mode));
        self.publish_size();
        vec![TerminalMsg::ModeChanged.into()]
    }

    /// Publishes the screen size to extensions.
    pub(crate) fn publish_size(&mut self) {
        let tui = self.screen.peek();
        let (size, is_full) = (tui.size(), tui.mode() == ScreenMode::Full);
        self.bridge.set_facts(|facts| {
            facts.columns = size.columns;
            facts.rows = size.rows;
            facts.fullscreen = is_full;
        });
        self.bridge.enqueue(ComponentTask::Resized);
    }

    /// Sets whether the run waits for an answer of the user; the clocks of its calls stand still meanwhile.
    pub(crate) fn set_blocked(&mut self, blocked: bool) {
        if self.screen.is_blocked() != blocked {
            let now = Instant::now();
            self.screen
                .with_working(|working| working.set_blocked(blocked, now));
        }
    }

    /// Reports what the program does to terminals that show it.
    pub(crate) fn set_program_status(&mut self, status: ProgramStatus) {
        if let Some(title) = self.title.mark(status.state) {
            log(self.screen.runner().set_title(&title));
        }
        log(self.screen.runner().set_program_status(status));
    }

    /// Publishes the themes to extensions.
    fn publish_themes(&mut self, themes: ThemeSelector, has_changed: bool) {
        let scheme = match themes.scheme() {
            pi_tui::ColorScheme::Light => "light",
            pi_tui::ColorScheme::Dark => "dark",
        };
        self.bridge.set_themes(themes);
        self.bridge.set_facts(|facts| facts.scheme = scheme);
        if has_changed {
            self.bridge.enqueue(ComponentTask::ThemeChanged { scheme });
        }
    }
}

/// Returns the size and the lines of the transcript, for a debug record.
pub(crate) fn describe_screen(screen: &AppScreen) -> String {
    let size = screen.peek().size();
    let transcript = screen.peek().transcript();
    let lines: Vec<String> = transcript
        .lines(0..transcript.line_count())
        .map(|line| format!("{:?}", line.as_str()))
        .collect();
    format!(
        "terminal: {}x{}\n\n== lines ==\n{}",
        size.columns,
        size.rows,
        lines.join("\n")
    )
}

/// Notifies the user outside of the screen.
fn notify(runner: &mut Runner, kind: RunNotification, text: &str) {
    match kind {
        RunNotification::Off => {}
        RunNotification::Bell => log(runner.ring_bell()),
        RunNotification::Desktop => {
            let text = clean_line(text);
            log(runner.write_out_of_band(&format!("\x1b]9;{text}\x07")));
            log(runner.ring_bell());
        }
    }
}

/// Reports a failed write. The next frame also fails and ends the application.
fn log(written: Result<(), RunnerError>) {
    if let Err(error) = written {
        tracing::warn!(%error, "cannot write to the terminal");
    }
}
