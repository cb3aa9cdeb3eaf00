//! The task that serves components: delivers input, draws lines, one at a time. It runs while a client is connected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pi_host::{ComponentId, ExtensionHandle, ExtensionRenderError, MountSerial};
use pi_protocol::{Command, Delivery};
use pi_tui::{InputDecoder, InputEvent, InputTiming, KeyEventKind, KeyboardMode};

use crate::off_screen::OffScreenInner;

/// Longer than any pending escape sequence, so that a lone Escape is flushed.
const ESCAPE_TIMEOUT: Duration = Duration::from_hours(1);

#[derive(Debug)]
pub(crate) enum ComponentTask {
    /// Extensions have a screen from now on.
    Opened,
    Resized,
    Focus {
        id: ComponentId,
        focused: bool,
    },
    /// Input for a component, or for the focused one.
    Input {
        serial: Option<MountSerial>,
        data: String,
    },
    /// A prompt from an extension's editor.
    Submit(String),
    Execute(Command),
    Shortcut {
        extension: String,
        key: String,
    },
    /// Replaces the text of an extension's editor.
    EditorText(String),
    /// Inserts text into an extension's editor.
    EditorPaste(String),
}

enum Work {
    Task(ExtensionHandle, ComponentTask),
    Draw(ExtensionHandle, ComponentId),
    Wait(Option<Duration>),
    End,
}

/// Serves components until no client is connected.
pub(crate) async fn serve(screen: Arc<OffScreenInner>) {
    loop {
        match next_work(&screen) {
            Work::Task(link, task) => Box::pin(perform(&screen, &link, task)).await,
            Work::Draw(link, id) => Box::pin(draw(&screen, &link, id)).await,
            Work::Wait(None) => screen.work.notified().await,
            Work::Wait(Some(pause)) => {
                // In either case, check again.
                drop(tokio::time::timeout(pause, screen.work.notified()).await);
            }
            Work::End => return,
        }
    }
}

fn next_work(screen: &OffScreenInner) -> Work {
    let mut state = screen.state();
    if state.clients == 0 {
        state.is_served = false;
        return Work::End;
    }
    let Some(link) = state.link.clone() else {
        return Work::Wait(None);
    };
    if let Some(task) = state.tasks.pop_front() {
        return Work::Task(link, task);
    }
    match state.components.next_draw(Instant::now()) {
        Ok(id) => Work::Draw(link, id),
        Err(pause) => Work::Wait(pause),
    }
}

async fn perform(screen: &OffScreenInner, link: &ExtensionHandle, task: ComponentTask) {
    match task {
        ComponentTask::Opened => link.screen_opened().await,
        ComponentTask::Resized => link.resized().await,
        ComponentTask::Focus { id, focused } => link.focus(id, focused).await,
        ComponentTask::Input { serial, data } => {
            for event in events(&data) {
                type_event(screen, link, serial, &event).await;
            }
        }
        ComponentTask::Submit(text) => {
            link.add_editor_history(&text).await;
            execute(
                link,
                Command::Prompt {
                    message: text,
                    images: Vec::new(),
                    streaming_behavior: Some(Delivery::Steer),
                },
            );
        }
        ComponentTask::Execute(command) => execute(link, command),
        ComponentTask::Shortcut { extension, key } => {
            let link = link.clone();
            tokio::spawn(async move {
                if let Err(error) = link.run_shortcut(&extension, &key).await {
                    link.report_failure(Some(extension), "shortcut", error);
                }
            });
        }
        ComponentTask::EditorText(text) => link.set_editor_text(&text).await,
        ComponentTask::EditorPaste(text) => link.insert_editor_text(&text).await,
    }
    let mut state = screen.state();
    state.components.redraw(Instant::now());
    state.update_focus();
    drop(state);
    screen.changed();
}

/// Executes a command while components are served: it may wait for one of them.
fn execute(link: &ExtensionHandle, command: Command) {
    let link = link.clone();
    tokio::spawn(async move {
        if let Err(error) = link.submit(command).await {
            link.report_failure(None, "editor", error);
        }
    });
}

/// Splits input like a terminal does.
fn events(data: &str) -> Vec<InputEvent> {
    let now = Instant::now();
    let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
    let mut events = decoder.push(data.as_bytes(), now);
    events.extend(decoder.expire(now + ESCAPE_TIMEOUT));
    events
}

/// Shows an event to the listeners of extensions, then to the component that it is for at that time.
async fn type_event(
    screen: &OffScreenInner,
    link: &ExtensionHandle,
    serial: Option<MountSerial>,
    event: &InputEvent,
) {
    let raw = event.raw();
    let mut data = String::from_utf8_lossy(&raw).into_owned();
    if data.is_empty() {
        return;
    }
    if screen.state().has_raw_listeners {
        match link.raw_input(&data).await {
            Some(left) => data = left,
            None => return,
        }
    }
    let target = {
        let state = screen.state();
        let component = match serial {
            Some(serial) => state.components.by_serial(serial),
            None => state.components.focused(),
        };
        component.map(|component| (component.id, component.key_release))
    };
    let is_release = matches!(event, InputEvent::Key(key) if key.kind() == KeyEventKind::Release);
    if let Some((id, key_release)) = target
        && (key_release || !is_release)
    {
        link.input(id, &data).await;
    }
}

async fn draw(screen: &OffScreenInner, link: &ExtensionHandle, id: ComponentId) {
    let (columns, size, epoch) = {
        let mut state = screen.state();
        let (size, epoch) = (state.size, state.epoch);
        let Some(component) = state.components.get(id) else {
            return;
        };
        (component.columns(size), size, epoch)
    };
    let drawn = link.render(id, columns).await;
    let mut state = screen.state();
    if state.epoch != epoch {
        return;
    }
    let Some(component) = state.components.get(id) else {
        return;
    };
    match drawn {
        Ok(drawn) => {
            component.key_release = drawn.key_release;
            component.accept(&drawn.lines, columns, size);
        }
        Err(ExtensionRenderError::Gone) => return,
        // The last lines stay.
        Err(error) => {
            if component.record_failure() {
                let owner = component.owner.clone();
                drop(state);
                link.report_failure(owner, "render", error.to_string());
            }
            return;
        }
    }
    drop(state);
    screen.changed();
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn input_is_split_into_keys_and_pastes() {
        let raws = |data: &str| -> Vec<String> {
            let split = events(data).into_iter();
            split
                .map(|event| String::from_utf8_lossy(&event.raw()).into_owned())
                .collect()
        };
        assert_eq!(raws("a\x1b[Ab"), ["a", "\x1b[A", "b"]);
        assert_eq!(raws("\x1b"), ["\x1b"]);
        assert_eq!(raws("\x1b[200~x\ny\x1b[201~").len(), 1);
    }
}
