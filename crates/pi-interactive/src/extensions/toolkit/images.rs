//! Image sizes and escape sequences for extension components.

use pi_env::Env;
use pi_host::HostError;
use pi_tui::{
    CapabilityOverrides, CellSize, ImageCells, ImageDimensions, ImageProtocol,
    TerminalCapabilities, TerminalEnvironment,
};
use serde_json::{Value, json};

use super::{member, unknown};

/// Answers an `image.*` query.
pub(super) fn answer(question: &str, arguments: &Value, env: &Env) -> Result<Value, HostError> {
    let text = |name: &str| member::<String>(arguments, name);
    let number = |name: &str| member::<u32>(arguments, name);
    match question {
        "image.capabilities" => Ok(capabilities(env)),
        "image.dimensions" => {
            let dimensions = pi_tui::image_dimensions(&text("data")?);
            let dimensions =
                dimensions.map(|size| json!({ "widthPx": size.width, "heightPx": size.height }));
            Ok(dimensions.into())
        }
        "image.cells" => {
            let dimensions = ImageDimensions {
                width: number("width")?,
                height: number("height")?,
            };
            let cell = CellSize {
                width: number("cellWidth")?,
                height: number("cellHeight")?,
            };
            let max_rows = member(arguments, "maxRows")?;
            let cells =
                ImageCells::fit(dimensions, member(arguments, "maxColumns")?, max_rows, cell);
            Ok(json!({ "columns": cells.columns, "rows": cells.rows }))
        }
        "image.kitty" => {
            let cells = ImageCells {
                columns: member(arguments, "columns")?,
                rows: member(arguments, "rows")?,
            };
            Ok(pi_tui::kitty_image(&text("data")?, number("id")?, cells).into())
        }
        "image.iterm2" => {
            let columns = member(arguments, "columns")?;
            let name: Option<String> = member(arguments, "name")?;
            Ok(pi_tui::iterm2_image(&text("data")?, columns, name.as_deref()).into())
        }
        "image.deletion" => Ok(match member::<Option<u32>>(arguments, "id")? {
            Some(id) => pi_tui::kitty_delete(id),
            None => pi_tui::KITTY_DELETE_ALL.to_owned(),
        }
        .into()),
        "image.fallback" => {
            let name: Option<String> = member(arguments, "name")?;
            let width: Option<u32> = member(arguments, "width")?;
            let height: Option<u32> = member(arguments, "height")?;
            let size = width
                .zip(height)
                .map(|(width, height)| ImageDimensions { width, height });
            Ok(pi_tui::image_fallback(&text("mimeType")?, size, name.as_deref()).into())
        }
        _ => Err(unknown(question)),
    }
}

fn capabilities(env: &Env) -> Value {
    let lookup = |name: &str| env.var(name);
    let found = TerminalCapabilities::resolve(
        TerminalEnvironment::new(&lookup),
        CapabilityOverrides::default(),
        || false,
    );
    json!({
        "images": found.images.map(|protocol| match protocol {
            ImageProtocol::Kitty => "kitty",
            ImageProtocol::ITerm2 => "iterm2",
        }),
        "trueColor": found.true_color,
        "hyperlinks": found.hyperlinks,
    })
}
