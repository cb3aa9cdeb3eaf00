//! A PNG in the terminal, or the words that stand for it.
//!
//! Run with `cargo run -p pi-tui --example images FILE.png`; any key leaves. `PI_IMAGE_PROTOCOL`
//! (kitty, iterm2, none) chooses how.

use base64::Engine as _;
use pi_tui::{
    Capabilities, CapabilityOverrides, CellSize, Component, ImageCells, InputEvent, Leave, Lines,
    Runner, RunnerEvent, RunnerOptions, TerminalEnvironment, Tui, TuiOptions, image_dimensions,
    image_fallback, image_lines, probe_tmux_hyperlinks, truncate_to_width,
};

/// A PNG of eight by eight pixels in two colours.
pub(crate) const SAMPLE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEXrbzQAAADMsXGJAAAAGElEQVR4nGNgAAEFBgYHBgYBBgYFBgYAAAjQAQmGG4XpAAAAAElFTkSuQmCC";

struct Picture {
    data: String,
    name: String,
    capabilities: Capabilities,
}

impl Component for Picture {
    fn render(&mut self, width: usize) -> Lines {
        let size = image_dimensions(&self.data);
        let (Some(protocol), Some(size)) = (self.capabilities.images, size) else {
            let text = image_fallback("image/png", size, Some(&self.name));
            let text = truncate_to_width(&text, width, pi_tui::Truncation::default());
            return Lines::from(vec![text.into_owned()]);
        };
        let cells = ImageCells::fit(size, width.min(40), Some(10), CellSize::default());
        Lines::from(image_lines(protocol, &self.data, 1, cells))
    }
}

struct Caption(&'static str);

impl Component for Caption {
    fn render(&mut self, width: usize) -> Lines {
        pi_tui::wrap_text(self.0, width).into_iter().collect()
    }
}

/// The UI around a picture.
pub(crate) fn ui(name: String, data: String, capabilities: Capabilities) -> Tui {
    let mut tui = Tui::new(TuiOptions::default());
    tui.transcript_mut()
        .push(Caption("An image, or what stands for one:"));
    tui.transcript_mut().push(Picture {
        data,
        name,
        capabilities,
    });
    tui.dock_mut().push(Caption("Any key leaves."));
    tui
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let variable = |name: &str| std::env::var(name).ok();
    let capabilities = Capabilities::resolve(
        TerminalEnvironment::new(&variable),
        CapabilityOverrides::default(),
        probe_tmux_hyperlinks,
    );
    let (name, data) = match std::env::args().nth(1) {
        Some(path) => {
            let bytes = std::fs::read(&path)?;
            (
                path,
                base64::engine::general_purpose::STANDARD.encode(bytes),
            )
        }
        None => ("sample.png".to_owned(), SAMPLE.to_owned()),
    };
    let tui = ui(name, data, capabilities);
    let options = RunnerOptions {
        capabilities,
        ..RunnerOptions::default()
    };
    let mut runner = Runner::start(tui, options)?;
    loop {
        match runner.next().await? {
            RunnerEvent::Input {
                event: InputEvent::Key(_),
                ..
            }
            | RunnerEvent::Terminated => break,
            _ => {}
        }
    }
    runner.stop(Leave::AsItWas)?;
    Ok(())
}
