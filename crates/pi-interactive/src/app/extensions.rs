//! What extensions want of the screen, carried out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pi_runtime::{
    ComponentId, ExtensionFailure, ExtensionNotice, ExtensionUi as _, ScreenChange, ComponentPlacement,
};
use pi_tui::{ColorScheme, Heard, KeyId, ListenerId, ScreenMode};
use serde_json::Value;

use super::App;
use super::extension_dialogs::WaitingDialog;
use crate::ExitReason;
use crate::extension_desk::{DialogId, Drawing, News, Task};
use crate::foreign_text::out_of_band;
use crate::foreign_view::ForeignView;
use crate::screen::Side;
use crate::transcript::NoticeLevel;
use crate::working::{INTERVAL, Wishes};

/// Lines of a stack that are shown.
const STACK_LINES: usize = 6;

/// What the application keeps of extensions.
#[derive(Default)]
pub(crate) struct ExtensionState {
    /// Questions that wait for the place of the prompt.
    pub(super) waiting: VecDeque<WaitingDialog>,
    /// The question that has it.
    pub(super) open: Option<DialogId>,
    /// What runs a shortcut, in the order in which they are tried.
    pub(super) shortcuts: Vec<(KeyId, String, String)>,
    /// What starts a completion of theirs; none if they complete nothing.
    pub(super) completion: Option<Vec<char>>,
    /// The text of their editor.
    pub(super) editor_text: String,
    /// What stands in the place of the program's name.
    pub(crate) header: Option<(ComponentId, bool)>,
    listener: Option<ListenerId>,
    branch: Option<String>,
    last_failure: Option<ExtensionFailure>,
    leaves_when_idle: bool,
    are_there: bool,
}

impl App {
    /// Lets extensions and the screen find each other.
    pub(super) fn begin_with_extensions(&mut self) {
        self.desk.open(self.look.clone());
        self.talk.spawn(self.desk.clone().serve());
        self.tell_size();
        self.tell_themes();
        self.tell_editor();
        // What was said before there was a screen.
        self.on_extensions();
    }

    /// Sees to what extensions want.
    pub(super) fn on_extensions(&mut self) {
        for news in self.desk.take_news() {
            match news {
                News::Connected => self.on_connected(),
                News::Notice(notice) => self.on_notice(notice),
                News::Asked { id, dialog, answer } => self.on_question(id, dialog, answer),
                News::Withdrawn(id) => self.on_withdrawn(id),
                News::Failed(failure) => self.on_failure(failure),
                News::Changed(change) => self.on_change(change),
                News::Drawn { id, width, drawing } => self.on_drawn(id, width, drawing),
                News::ThemeWanted(name) => self.use_theme(name),
                News::Typed(event) => self.written(|app| app.screen.runner().hand_on(event)),
                News::TypedInstead(data) => {
                    self.written(|app| app.screen.runner().hand_on_bytes(data.as_bytes()));
                }
                News::ShutDown => self.leave_when_idle(),
            }
        }
        for (id, bounds) in self.screen.overlay_bounds() {
            self.desk.set_bounds(id, bounds);
        }
    }

    /// Other extensions are at work: nothing of the ones before stays.
    fn on_connected(&mut self) {
        let are_there = self.desk.is_connected();
        if !are_there && !self.extensions.are_there {
            return;
        }
        let has_editor = self.screen.has_foreign_editor();
        let written = has_editor.then(|| self.prompt_text());
        self.screen.unmount_all();
        self.give_up_questions();
        if let Some(listener) = self.extensions.listener.take() {
            self.screen.runner().tui().remove_listener(listener);
        }
        if self.extensions.header.is_some() {
            self.show_own_header();
        }
        self.extensions = ExtensionState {
            are_there,
            ..ExtensionState::default()
        };
        self.screen
            .with_working(|working| working.with_wishes(|wishes| *wishes = Wishes::default()));
        if self.look.appearance().thinking_label.is_some() {
            self.change_look(|appearance| appearance.thinking_label = None);
        }
        if let Some(written) = written {
            self.set_prompt(&written);
        }
        self.register_shortcuts();
        self.tell_hidden_commands();
        self.refresh_completion();
        self.refresh_footer();
        self.refresh_title();
    }

    fn on_notice(&mut self, notice: ExtensionNotice) {
        match notice {
            ExtensionNotice::Notify {
                message,
                notify_type,
            } => self.tell(
                match notify_type.as_deref() {
                    Some("error") => NoticeLevel::Error,
                    Some("warning") => NoticeLevel::Warning,
                    _ => NoticeLevel::Status,
                },
                message,
            ),
            ExtensionNotice::Status { .. } => {
                self.refresh_footer();
                self.desk.redraw();
            }
            ExtensionNotice::Widget {
                key,
                lines,
                placement,
            } => self.show_widget(key, lines, Side::named(placement.as_deref())),
            ExtensionNotice::Title { title } => {
                self.written(|app| app.screen.runner().set_title(&title));
            }
            ExtensionNotice::EditorText { text } => self.set_prompt(&text),
            ExtensionNotice::EditorPaste { text } => self.insert_at_prompt(&text),
            ExtensionNotice::WorkingMessage { message } => self
                .screen
                .with_working(|working| working.with_wishes(|wishes| wishes.message = message)),
            ExtensionNotice::WorkingVisible { visible } => self
                .screen
                .with_working(|working| working.with_wishes(|wishes| wishes.hidden = !visible)),
            ExtensionNotice::WorkingIndicator { indicator } => {
                let indicator = indicator.as_ref().map(read_indicator);
                self.screen.with_working(|working| {
                    working.with_wishes(|wishes| wishes.indicator = indicator);
                });
            }
            ExtensionNotice::HiddenThinkingLabel { label } => {
                let label = label.map(|label| crate::blocks::clean_line(&label));
                self.change_look(|appearance| appearance.thinking_label = label);
            }
            other => tracing::debug!(?other, "an extension says what this screen does not show"),
        }
    }

    fn show_widget(&mut self, key: String, lines: Option<Vec<String>>, side: Side) {
        for side in [Side::Above, Side::Below] {
            self.screen
                .with_widgets(side, |widgets| widgets.remove(&key));
        }
        if let Some(lines) = lines {
            self.screen
                .with_widgets(side, |widgets| widgets.set_lines(key, lines));
        }
    }

    fn on_failure(&mut self, failure: ExtensionFailure) {
        // A timer that fails sixty times a second is told of once.
        if self.extensions.last_failure.as_ref() == Some(&failure) {
            return;
        }
        let whose = match &failure.extension {
            Some(extension) => format!("Extension \"{extension}\""),
            None => "An extension".to_owned(),
        };
        let mut text = format!("{whose} failed ({}): {}", failure.event, failure.error);
        let stack = failure.stack.as_deref().unwrap_or_default();
        for line in stack.lines().skip(1).take(STACK_LINES) {
            text.push_str("\n  ");
            text.push_str(line.trim());
        }
        self.error(text);
        self.extensions.last_failure = Some(failure);
    }

    fn on_change(&mut self, change: ScreenChange) {
        match change {
            ScreenChange::Mount {
                id,
                placement: place,
                key_release,
            } => self.mount(id, place, key_release),
            ScreenChange::Unmount { id } => self.unmount(id),
            ScreenChange::Focus { id } => self.screen.focus_foreign(id),
            ScreenChange::OverlayHidden { id, hidden } => {
                self.screen.hide_overlay(id, Some(hidden), None);
            }
            ScreenChange::OverlayVisible { id, visible } => {
                self.screen.hide_overlay(id, None, Some(visible));
            }
            ScreenChange::OverlayReleased { id, restore_default: usual, next_focus: heir } => {
                self.screen.release_overlay(id, usual, heir);
            }
            ScreenChange::RawInput { listening } => self.listen_raw(listening),
            ScreenChange::Completion { triggers } => {
                let triggers = triggers.iter().filter_map(|text| text.chars().next());
                self.extensions.completion = Some(triggers.collect());
                self.refresh_completion();
            }
            ScreenChange::EditorSubmitted { text } => {
                self.extensions.editor_text.clear();
                self.submit(&text);
            }
            ScreenChange::EditorChanged { text } => {
                self.extensions.editor_text = text;
                self.on_prompt_changed();
            }
            ScreenChange::EditorAction { action } => self.perform_named(&action),
            ScreenChange::EditorRestored { text } => {
                self.extensions.editor_text.clear();
                self.set_prompt(&text);
            }
            ScreenChange::Shortcut { extension, key } => self.run_shortcut(extension, key),
            ScreenChange::Expanded { expanded } => self.show_details(expanded),
            ScreenChange::Progress { active } => {
                self.written(|app| app.screen.runner().set_progress(active));
            }
            ScreenChange::Write { data } => {
                let data = out_of_band(&data);
                self.written(|app| app.screen.runner().write_aside(&data));
            }
            // The desk sees to these itself.
            ScreenChange::Redraw | ScreenChange::RowChanged { .. } => {}
            other => tracing::debug!(?other, "an extension wants what this screen does not know"),
        }
    }

    fn mount(&mut self, id: ComponentId, place: ComponentPlacement, key_release: bool) {
        let view = ForeignView::new(id, self.desk.clone(), key_release);
        match place {
            ComponentPlacement::Widget { key, placement } => {
                for side in [Side::Above, Side::Below] {
                    self.screen
                        .with_widgets(side, |widgets| widgets.remove(&key));
                }
                let side = Side::named(placement.as_deref());
                self.screen
                    .with_widgets(side, |widgets| widgets.set_component(key, view));
            }
            ComponentPlacement::Header => self.show_foreign_header(id, key_release),
            ComponentPlacement::Footer => self.screen.mount_footer(view),
            ComponentPlacement::Custom => self.screen.mount_custom(view),
            ComponentPlacement::Editor => {
                self.extensions.editor_text = self.desk.editor_text();
                self.screen.mount_editor(view);
                self.screen.with_editor(|area| area.editor().set_text(""));
            }
            ComponentPlacement::Bottom => self.screen.mount_bottom(view),
            ComponentPlacement::Overlay(place) => self.screen.mount_overlay(view, &place),
            other => tracing::debug!(?other, "there is no such place on this screen"),
        }
    }

    fn unmount(&mut self, id: ComponentId) {
        if self
            .extensions
            .header
            .is_some_and(|(header, _)| header == id)
        {
            self.show_own_header();
        }
        self.screen.unmount(id);
    }

    fn on_drawn(&mut self, id: ComponentId, width: usize, drawing: Drawing) {
        match drawing {
            Drawing::Component(Ok(drawn)) => {
                let header = self.extensions.header.map(|(header, _)| header);
                let too_wide = if header == Some(id) {
                    self.with_foreign_header(|view| view.accept(width, &drawn))
                } else {
                    self.screen
                        .with_foreign(id, |view| view.accept(width, &drawn))
                };
                if let Some(count) = too_wide.flatten() {
                    self.blame_width(id, count, width);
                }
            }
            // The last lines stay; who drew has been told of.
            Drawing::Component(Err(_)) => {}
            Drawing::Call(drawn) => self.with_transcript(|transcript, document| {
                transcript.call_drawn(document, id, drawn.ok());
            }),
            Drawing::Wording(texts) => self.with_transcript(|transcript, document| {
                transcript.worded(document, id, texts.ok());
            }),
            Drawing::Custom(drawn) => self.with_transcript(|transcript, document| {
                transcript.custom_drawn(document, id, drawn.ok().flatten());
            }),
        }
    }

    fn blame_width(&mut self, id: ComponentId, count: usize, width: usize) {
        let whose = match self.desk.owner(id) {
            Some(extension) => format!("A component of {extension}"),
            None => "A component of an extension".to_owned(),
        };
        let lines = if count == 1 { "line" } else { "lines" };
        let what = format!("drew {count} {lines} wider than its {width} columns; they are cut");
        self.tell(NoticeLevel::Warning, format!("{whose} {what}"));
    }

    fn listen_raw(&mut self, listening: bool) {
        let tui = self.screen.runner().tui();
        if let Some(listener) = self.extensions.listener.take() {
            tui.remove_listener(listener);
        }
        if listening {
            let desk = self.desk.clone();
            let listener = tui.add_listener(move |event| {
                desk.say(Task::Raw(event.clone()));
                Heard::Consumed
            });
            self.extensions.listener = Some(listener);
        }
    }

    fn use_theme(&mut self, name: String) {
        self.themes.set_setting(Some(name.clone()));
        self.apply_theme();
        self.screen.runner().tui().invalidate();
        self.theme_told();
        let kept = self.session.settings().settings().theme.clone();
        if kept.as_deref() != Some(name.as_str()) {
            self.save_setting(|settings| settings.theme = Some(name));
        }
    }

    fn leave_when_idle(&mut self) {
        if self.session.is_idle() {
            self.leave(ExitReason::Quit);
        } else {
            self.extensions.leaves_when_idle = true;
        }
    }

    /// Leaves if an extension wanted that once the work is done.
    pub(super) fn settle_leaving(&mut self) {
        if self.extensions.leaves_when_idle {
            self.leave(ExitReason::Quit);
        }
    }

    /// Tells extensions what changed in the session: their components may show it.
    pub(super) fn tell_extensions(&mut self, branch: Option<&str>) {
        if !self.desk.is_connected() {
            return;
        }
        let models = self.session.models();
        let available = models.available();
        let mut providers: Vec<&str> = available.iter().map(|it| it.provider.as_str()).collect();
        providers.sort_unstable();
        providers.dedup();
        let branch = branch.map(str::to_owned);
        self.desk.set_facts(|facts| {
            facts.branch.clone_from(&branch);
            facts.providers = providers.len();
        });
        if self.extensions.branch != branch {
            self.extensions.branch = branch;
            self.desk.say(Task::BranchChanged);
        }
        self.desk.redraw();
    }

    /// Tells extensions how large the screen is.
    pub(super) fn tell_size(&mut self) {
        let tui = self.screen.peek();
        let (size, is_full) = (tui.size(), tui.mode() == ScreenMode::Full);
        self.desk.set_facts(|facts| {
            facts.columns = size.columns;
            facts.rows = size.rows;
            facts.fullscreen = is_full;
        });
        self.desk.say(Task::Resized);
    }

    /// Tells extensions which themes there are.
    pub(super) fn tell_themes(&mut self) {
        self.desk.set_themes(self.themes.clone());
        let scheme = scheme_name(self.themes.scheme());
        self.desk.set_facts(|facts| facts.scheme = scheme);
    }

    /// Tells extensions that other colors are in use.
    pub(super) fn theme_told(&mut self) {
        self.tell_themes();
        let scheme = scheme_name(self.themes.scheme());
        self.desk.say(Task::ThemeChanged { scheme });
    }

    /// Tells extensions how the prompt looks.
    pub(super) fn tell_editor(&mut self) {
        let settings = self.session.settings().settings();
        let border = if self.is_bash_mode {
            pi_tui::ColorToken::BashMode
        } else {
            super::prompts::border_token(self.session.thinking_level())
        };
        self.desk.set_editor(|editor| {
            editor.padding = usize::from(settings.editor_padding_x());
            editor.completions = usize::from(settings.autocomplete_max_visible());
            editor.border = border.name();
        });
        self.desk.redraw();
    }

    /// Lets the user out of a component that does not answer: pressing the key that clears the prompt
    /// twice takes it off the screen.
    pub(super) fn free_prompt(&mut self) {
        let is_stuck = self
            .desk
            .busy_since()
            .is_some_and(|since| since.elapsed() > STUCK_AFTER);
        let Some(id) = self.screen.focused_foreign().filter(|_| is_stuck) else {
            return;
        };
        if self.clear_key.press(Instant::now()) {
            self.screen.unmount(id);
            self.error("A component of an extension does not answer; it was taken off the screen");
        }
    }
}

/// After this time without an answer a component counts as stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

fn scheme_name(scheme: ColorScheme) -> &'static str {
    match scheme {
        ColorScheme::Light => "light",
        ColorScheme::Dark => "dark",
    }
}

/// Reads the pictures an extension wants, and how long each stays.
fn read_indicator(indicator: &Value) -> (Vec<String>, Duration) {
    let frames = indicator.get("frames").and_then(Value::as_array);
    let frames = match frames {
        Some(frames) => frames
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        None => crate::working::FRAMES.map(str::to_owned).to_vec(),
    };
    let interval = indicator.get("intervalMs").and_then(Value::as_u64);
    // Not faster than the screen.
    let interval = interval.map_or(INTERVAL, |interval| Duration::from_millis(interval.max(16)));
    (frames, interval)
}
