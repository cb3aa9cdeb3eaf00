//! Exports a session file as an HTML page: `cargo run -p pi-export --example export -- IN.jsonl
//! OUT.html`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use pi_export::{HtmlOptions, export_html_file};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let input = arguments.next().ok_or("missing argument: session file")?;
    let options = HtmlOptions {
        output: arguments.next(),
        ..HtmlOptions::default()
    };
    let page = export_html_file(&input, &options)?;
    writeln!(std::io::stdout(), "{}", page.display())?;
    Ok(())
}
