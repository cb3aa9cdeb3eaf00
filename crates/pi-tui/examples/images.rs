//! A PNG in the terminal, or the words that stand for it.
//!
//! Run with `cargo run -p pi-tui --example images FILE.png`; any key leaves. `PI_IMAGE_PROTOCOL`
//! (kitty, iterm2, none) chooses how.

use std::sync::Arc;

use base64::Engine as _;
use pi_tui::{
    TerminalCapabilities, CapabilityOverrides, CellSize, Image, ImageCellLimits, ImagePainter, EncodedImage,
    InputEvent, ExitBehavior, Markdown, MarkdownTheme, ProtocolImagePainter, Runner, RunnerEvent,
    RunnerOptions, TerminalEnvironment, Text, Tui, TuiOptions, probe_tmux_hyperlinks,
};

/// A PNG of eight by eight pixels in two colors.
pub(crate) const SAMPLE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAABlBMVEXrbzQAAADMsXGJAAAAGElEQVR4nGNgAAEFBgYHBgYBBgYFBgYAAAjQAQmGG4XpAAAAAElFTkSuQmCC";

/// The UI around a picture.
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
    let picture = Image::new(source, painter).limits(ImageCellLimits {
        columns: 40,
        rows: Some(10),
    });
    let caption = "An **image**, or what stands for one:";
    let mut tui = Tui::new(TuiOptions::default());
    tui.transcript_mut()
        .push(Markdown::new(caption, MarkdownTheme::default()));
    tui.transcript_mut().push(picture);
    tui.dock_mut()
        .push(Text::new("Any key leaves.").padding(0, 0));
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
