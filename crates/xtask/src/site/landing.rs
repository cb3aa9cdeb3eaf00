//! The first page: the lead, the screenshot and some sections of the README, and all pages of the manual.

use anyhow::{Context as _, Result};

use super::html::{escape, push, slug};
use super::layout::{PageHead, document, label};
use super::render::RenderedPage;
use super::topics::TOPICS;

/// Sections of the README that are shown; the rest is for those who read the source.
const SECTIONS: [&str; 3] = ["Install", "First run", "Coming from the TypeScript pi"];

/// Returns the first page, made of the rendered README.
pub(super) fn landing_page(readme: &RenderedPage) -> Result<String> {
    let (lead, rest) = split_at(&readme.html, "</p>").context("the README has no lead")?;
    let (slogan, description) = lead
        .split_once("</strong>")
        .context("the lead of the README starts with no bold sentence")?;
    let slogan = slogan.replace("<p><strong>", "");
    let (picture, _) = split_at(rest, "</figure>").context("the README has no screenshot")?;
    let figure = picture
        .rfind("<figure>")
        .and_then(|at| picture.get(at..))
        .context("the README has no screenshot")?;
    let mut body = format!(
        "<main id=\"content\">\n\
         <section class=\"hero\">\n\
         <h1>{slogan}</h1>\n\
         <p class=\"lead\">{}</p>\n\
         <p class=\"actions\"><a class=\"primary\" href=\"install.html\">Install</a><a href=\"quick-start.html\">Quick start</a></p>\n\
         <div class=\"shot\">{}</div>\n\
         </section>\n\
         <div class=\"prose\">\n",
        description.trim_end_matches("</p>").trim(),
        figure.replace("loading=\"lazy\" ", "")
    );
    for title in SECTIONS {
        body.push_str(section(readme, title)?);
    }
    body.push_str("</div>\n<section class=\"topics\">\n<h2 id=\"manual\">The manual</h2>\n<div class=\"cards\">\n");
    let mut current = None;
    for topic in TOPICS {
        if current != Some(topic.section) {
            if current.is_some() {
                body.push_str("</ul></div>\n");
            }
            current = Some(topic.section);
            push(
                &mut body,
                format_args!(
                    "<div class=\"card\"><h3>{}</h3><ul>\n",
                    escape(topic.section.title())
                ),
            );
        }
        push(
            &mut body,
            format_args!(
                "<li><a href=\"{}.html\">{}</a> <span>{}</span></li>\n",
                topic.name,
                label(topic.name),
                escape(topic.about)
            ),
        );
    }
    body.push_str("</ul></div>\n</div>\n</section>\n</main>\n<footer>pi is free software under the MIT license.</footer>\n");
    let head = PageHead {
        title: "pi · A coding agent for your terminal",
        description: &readme.lead,
        root: "",
    };
    Ok(document(&head, "landing", &body))
}

/// Returns one section of the README with its heading.
fn section<'a>(readme: &'a RenderedPage, title: &str) -> Result<&'a str> {
    let start = format!("<h2 id=\"{}\">", slug(title));
    let html = readme
        .html
        .find(&start)
        .and_then(|at| readme.html.get(at..))
        .with_context(|| format!("the README has no section \"{title}\""))?;
    let end = html
        .match_indices("<h2 ")
        .map(|(at, _)| at)
        .find(|at| *at > 0);
    Ok(end.and_then(|end| html.get(..end)).unwrap_or(html))
}

/// Splits behind the first occurrence of `end`.
fn split_at<'a>(html: &'a str, end: &str) -> Option<(&'a str, &'a str)> {
    let at = html.find(end)? + end.len();
    html.split_at_checked(at)
}
