//! The HTML around the content of a page: head, navigation, outline, links to the pages before and after.

use super::html::{escape, push};
use super::render::{PageHeading, RenderedPage};
use super::topics::{TOPICS, Topic};

/// Scripts and styles are files of the site; images may come from nowhere else.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Deeper headings are not in the outline.
const OUTLINE_LEVEL: u8 = 3;

/// What the head of a page needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageHead<'a> {
    pub(super) title: &'a str,
    pub(super) description: &'a str,
    /// The way to the directory of the site, such as `../`.
    pub(super) root: &'a str,
}

/// Returns a page of the manual.
pub(super) fn manual_page(page: &RenderedPage, topic: Topic) -> String {
    let head = PageHead {
        title: &format!("{} · pi", page.title),
        description: topic.about,
        root: "",
    };
    let content = format!(
        "<p class=\"eyebrow\">{}</p>\n<h1>{}</h1>\n{}{}",
        escape(topic.section.title()),
        escape(&page.title),
        page.html,
        neighbors(topic)
    );
    with_navigation(&head, Some(topic), &content, &page.headings)
}

/// Returns a page with the navigation of the manual that is not one of its topics.
pub(super) fn other_page(page: &RenderedPage, root: &str) -> String {
    let head = PageHead {
        title: &format!("{} · pi", page.title),
        description: &page.lead,
        root,
    };
    let content = format!("<h1>{}</h1>\n{}", escape(&page.title), page.html);
    with_navigation(&head, None, &content, &page.headings)
}

fn with_navigation(
    head: &PageHead<'_>,
    current: Option<Topic>,
    content: &str,
    headings: &[PageHeading],
) -> String {
    let body = format!(
        "<div class=\"columns\">\n\
         <nav class=\"pages\" id=\"pages\" aria-label=\"Pages\">\n{}</nav>\n\
         <main id=\"content\" class=\"prose\">\n{content}</main>\n\
         {}</div>\n",
        navigation(current, head.root),
        outline(headings)
    );
    document(head, "manual", &body)
}

/// Returns a document with the bar that all pages have.
pub(super) fn document(head: &PageHead<'_>, class: &str, body: &str) -> String {
    let PageHead {
        title,
        description,
        root,
    } = *head;
    let (title, description) = (escape(title), escape(description.trim()));
    let menu = if class == "manual" {
        "<button class=\"menu\" type=\"button\" aria-controls=\"pages\" aria-expanded=\"false\" aria-label=\"Pages\"><span></span></button>\n"
    } else {
        ""
    };
    format!(
        "<!doctype html>\n\
         <html lang=\"en\" data-root=\"{root}\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n\
         <meta name=\"description\" content=\"{description}\">\n\
         <link rel=\"icon\" href=\"{root}assets/icon.svg\" type=\"image/svg+xml\">\n\
         <link rel=\"stylesheet\" href=\"{root}assets/site.css\">\n\
         <script src=\"{root}assets/scheme.js\"></script>\n\
         <script type=\"module\" src=\"{root}assets/site.js\"></script>\n\
         </head>\n\
         <body class=\"{class}\">\n\
         <a class=\"skip\" href=\"#content\">Skip to content</a>\n\
         <header class=\"bar\">\n\
         {menu}\
         <a class=\"brand\" href=\"{root}index.html\"><img src=\"{root}assets/icon.svg\" width=\"26\" height=\"26\" alt=\"\">pi</a>\n\
         <nav class=\"links\" aria-label=\"Site\"><a href=\"{root}quick-start.html\">Manual</a><a href=\"{root}install.html\">Install</a><a href=\"{root}changelog.html\">Changelog</a></nav>\n\
         <button class=\"find\" type=\"button\" aria-keyshortcuts=\"/\" hidden><span>Search</span><kbd>/</kbd></button>\n\
         <button class=\"scheme\" type=\"button\" aria-label=\"Switch between light and dark\" hidden></button>\n\
         </header>\n\
         {body}\
         </body>\n\
         </html>\n"
    )
}

/// Returns the list of all pages by section.
fn navigation(current: Option<Topic>, root: &str) -> String {
    let mut html = String::new();
    let mut section = None;
    for topic in TOPICS {
        if section != Some(topic.section) {
            if section.is_some() {
                html.push_str("</ul>\n");
            }
            section = Some(topic.section);
            push(
                &mut html,
                format_args!("<h2>{}</h2>\n<ul>\n", escape(topic.section.title())),
            );
        }
        let state = if current == Some(*topic) {
            " aria-current=\"page\""
        } else {
            ""
        };
        push(
            &mut html,
            format_args!(
                "<li><a href=\"{root}{name}.html\"{state}>{label}</a></li>\n",
                name = topic.name,
                label = label(topic.name)
            ),
        );
    }
    html.push_str("</ul>\n");
    html
}

/// Returns the name of a page as the navigation shows it.
pub(super) fn label(name: &str) -> String {
    match name {
        "acp" | "mcp" | "rpc" | "sdk" | "json" => name.to_uppercase(),
        "node" => "Node".to_owned(),
        "mom" => "Chat bot".to_owned(),
        "web" => "Web UI".to_owned(),
        "codemode" => "Code mode".to_owned(),
        "agents" => "Sub-agents".to_owned(),
        "interactive" => "Interactive mode".to_owned(),
        "hostile-input" => "Hostile input".to_owned(),
        _ => {
            let words = name.replace('-', " ");
            let mut letters = words.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            first.into_iter().chain(letters).collect()
        }
    }
}

fn outline(headings: &[PageHeading]) -> String {
    let shown = || headings.iter().filter(|it| it.level <= OUTLINE_LEVEL);
    if shown().count() < 2 {
        return "<aside class=\"outline\"></aside>\n".to_owned();
    }
    let mut html =
        "<aside class=\"outline\"><nav aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n"
            .to_owned();
    for heading in shown() {
        push(
            &mut html,
            format_args!(
                "<li class=\"level-{}\"><a href=\"#{}\">{}</a></li>\n",
                heading.level,
                heading.anchor,
                escape(&heading.text)
            ),
        );
    }
    html.push_str("</ul>\n</nav></aside>\n");
    html
}

/// Returns the links to the pages before and after a topic.
fn neighbors(topic: Topic) -> String {
    let position = TOPICS.iter().position(|it| it.name == topic.name);
    let before = position.and_then(|at| TOPICS.get(at.checked_sub(1)?));
    let after = position.and_then(|at| TOPICS.get(at + 1));
    let mut html = "<nav class=\"neighbors\" aria-label=\"Previous and next page\">\n".to_owned();
    for (class, hint, neighbor) in [("before", "Previous", before), ("after", "Next", after)] {
        if let Some(neighbor) = neighbor {
            push(
                &mut html,
                format_args!(
                    "<a class=\"{class}\" href=\"{}.html\"><small>{hint}</small>{}</a>\n",
                    neighbor.name,
                    label(neighbor.name)
                ),
            );
        }
    }
    html.push_str("</nav>\n");
    html
}
