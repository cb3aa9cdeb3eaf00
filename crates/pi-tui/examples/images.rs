//! A PNG in the terminal, or its text fallback.
//!
//! Run with `cargo run -p pi-tui --example images FILE.png`; any key exits. `PI_IMAGE_PROTOCOL`
//! (kitty, iterm2, none) selects the protocol.

use std::sync::Arc;

use base64::Engine as _;
use pi_tui::{
    CapabilityOverrides, CellSize, EncodedImage, ExitBehavior, Image, ImageCellLimits,
    ImagePainter, InputEvent, ProtocolImagePainter, Runner, RunnerEvent, RunnerOptions, Style,
    TerminalCapabilities, TerminalEnvironment, Text, Tui, TuiOptions, probe_tmux_hyperlinks,
};

/// An 8×8 PNG in two colors.
pub(crate) const SAMPLE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEXrbzQAAADMsXGJAAAAGElEQVR4nGNgAAEFBgYHBgYBBgYFBgYAAAjQAQmGG4XpAAAAAElFTkSuQmCC";

/// Returns the UI around an image.
pub(crate) fn ui(name: &str, data: &str, capabilities: TerminalCapabilities) -> Tui {
    let painter = capabilities.images.map(|protocol| {
        let painter = ProtocolImagePainter::new(protocol, CellSize::default());
        Arc::new(painter) as Arc<dyn ImagePainter>
    });
    let source = EncodedImage {
        base64: data.into(),
        mime_type: "image/png".to_owned(),
        size: None,
        file_name: Some(name.to_owned()),
    };
    let image = Image::new(source, painter).limits(ImageCellLimits {
        columns: 40,
        rows: Some(10),
    });
    let emphasized = Style::plain().bold().apply("image");
    let caption = format!("An {emphasized}, or its text fallback:");
    let mut tui = Tui::new(TuiOptions::default());
    tui.transcript_mut().push(Text::new(caption).padding(0, 0));
    tui.transcript_mut().push(image);
    tui.dock_mut()
        .push(Text::new("Press any key to exit.").padding(0, 0));
    tui
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let variable = |name: &str| std::env::var(name).ok();
    let capabilities = TerminalCapabilities::resolve(
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
    let tui = ui(&name, &data, capabilities);
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
    runner.stop(ExitBehavior::RestoreScreen)?;
    Ok(())
}
