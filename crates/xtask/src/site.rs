//! `cargo xtask site`: generates the documentation site from `docs/`, the README and the changelog.
//!
//! The pages, their order and their sections are those of `pi docs`. The site is static: HTML, one style sheet, two small
//! scripts and the index of the search. Addresses are relative, so it works below any path.

mod check;
mod highlight;
mod html;
mod images;
mod landing;
mod layout;
mod render;
mod search_index;
#[cfg(test)]
mod tests;
#[path = "../../pi/src/docs_command/topics/table.rs"]
mod topics;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use pi_fs::{NewFileMode, atomic_file};

use images::ImageSizes;
use render::CodeColors;
use search_index::SearchIndex;
use topics::TOPICS;

/// Placeholder for the address of the releases in pages; see [`SiteOptions::releases`].
const RELEASES: &str = "$PI_RELEASES";

const ASSETS: [(&str, &str); 4] = [
    ("assets/site.css", include_str!("site/assets/site.css")),
    ("assets/site.js", include_str!("site/assets/site.js")),
    ("assets/scheme.js", include_str!("site/assets/scheme.js")),
    (
        "assets/icon.svg",
        include_str!("../../pi-web/assets/root/icon.svg"),
    ),
];

/// The files of a site by path.
type SiteFiles = BTreeMap<PathBuf, Vec<u8>>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SiteOptions {
    out: PathBuf,
    /// The address of the releases, which replaces `$PI_RELEASES` in commands.
    releases: Option<String>,
}

impl SiteOptions {
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            out: PathBuf::from("target/site"),
            releases: None,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let value = arguments
                .next()
                .with_context(|| format!("{argument} needs a value"))?;
            match *argument {
                "--out" => options.out = PathBuf::from(value),
                "--releases" => options.releases = Some(value.trim_end_matches('/').to_owned()),
                _ => bail!("`site` has no option {argument}"),
            }
        }
        Ok(options)
    }
}

/// Writes the site, replacing the one that is there.
pub(crate) fn run(options: &SiteOptions) -> Result<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = generate(&root, options.releases.as_deref(), CodeColors::Syntax)?;
    let problems = check::problems(&files)?;
    ensure!(
        problems.is_empty(),
        "the site has broken links:\n  {}",
        problems.join("\n  ")
    );
    let out = &options.out;
    if out.join("assets/site.css").exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot replace {}", out.display()))?;
    } else if out
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_some())
    {
        bail!(
            "{} contains something else than a site\nhint: choose another directory with --out",
            out.display()
        );
    }
    let mut bytes = 0;
    for (path, content) in &files {
        let path = out.join(path);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        atomic_file::write(&path, content, NewFileMode::Default)
            .with_context(|| format!("cannot write {}", path.display()))?;
        bytes += content.len();
    }
    Ok(format!(
        "{}: {} files, {} KB",
        out.display(),
        files.len(),
        bytes / 1024
    ))
}

/// Returns the files of the site for the repository at `root`.
fn generate(root: &Path, releases: Option<&str>, colors: CodeColors) -> Result<SiteFiles> {
    let docs = root.join("docs");
    let images = ImageSizes::read(&docs.join("images"))?;
    let source = |path: &Path| -> Result<String> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(match releases {
            Some(releases) => text.replace(RELEASES, releases),
            None => text,
        })
    };
    let rendered = |path: &Path| -> Result<render::RenderedPage> {
        render::render(&source(path)?, &site_address, &images, colors)
            .with_context(|| format!("cannot render {}", path.display()))
    };
    let mut files = SiteFiles::new();
    let mut add = |path: &str, content: String| files.insert(path.into(), content.into_bytes());
    let mut index = SearchIndex::default();
    for topic in TOPICS {
        let page = rendered(&docs.join(format!("{}.md", topic.name)))?;
        let address = format!("{}.html", topic.name);
        index.add(&address, topic, &page);
        add(&address, layout::manual_page(&page, *topic));
    }
    let changelog = rendered(&root.join("CHANGELOG.md"))?;
    add("changelog.html", layout::other_page(&changelog, ""));
    let schemas = rendered(&docs.join("schema/README.md"))?;
    add("schema/index.html", layout::other_page(&schemas, "../"));
    let readme = rendered(&root.join("README.md"))?;
    add("index.html", landing::landing_page(&readme)?);
    add("assets/search-index.js", index.into_module());
    for (path, content) in ASSETS {
        add(path, content.to_owned());
    }
    for directory in ["images", "schema"] {
        for entry in fs::read_dir(docs.join(directory))? {
            let path = entry?.path();
            if path.is_file() && path.extension().is_none_or(|extension| extension != "md") {
                let name = Path::new(directory).join(path.file_name().unwrap_or_default());
                files.insert(name, fs::read(&path)?);
            }
        }
    }
    Ok(files)
}

/// Maps the target of a link between files of the repository to an address of the site.
fn site_address(target: &str) -> String {
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, format!("#{anchor}")),
        None => (target, String::new()),
    };
    if file.contains("://") || file.is_empty() {
        return target.to_owned();
    }
    // The README names pages and images by their path in the repository.
    let file = file.strip_prefix("docs/").unwrap_or(file);
    match file {
        "" => format!("index.html{anchor}"),
        "CHANGELOG.md" => format!("changelog.html{anchor}"),
        _ => match file.strip_suffix(".md") {
            Some(page) => match page.strip_suffix("README") {
                Some(directory) => format!("{directory}index.html{anchor}"),
                None => format!("{page}.html{anchor}"),
            },
            None => target.strip_prefix("docs/").unwrap_or(target).to_owned(),
        },
    }
}
