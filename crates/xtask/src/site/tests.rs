use std::path::Path;

use pi_test_support::Browser;
use pretty_assertions::assert_eq;

use super::*;
use crate::file_server::serve;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(files: &SiteFiles, path: &str) -> String {
    String::from_utf8(files[Path::new(path)].clone()).unwrap()
}

#[test]
fn links_and_anchors_of_the_site_exist() {
    let files = generate(&repository(), None, CodeColors::None).unwrap();
    assert_eq!(check::problems(&files).unwrap(), Vec::<String>::new());
    for topic in TOPICS {
        assert!(files.contains_key(Path::new(&format!("{}.html", topic.name))));
    }
}

#[test]
fn pages_of_a_section_follow_each_other() {
    let mut seen = Vec::new();
    for topic in TOPICS {
        if seen.last() != Some(&topic.section) {
            assert!(!seen.contains(&topic.section), "{}", topic.name);
            seen.push(topic.section);
        }
    }
}

#[test]
fn the_address_of_releases_is_replaced() {
    let releases = "https://example.com/pi/releases";
    let files = generate(&repository(), Some(releases), CodeColors::None).unwrap();
    let install = page(&files, "install.html");
    assert!(install.contains(releases), "{install}");
    assert!(!install.contains("$PI_RELEASES"), "{install}");
}

#[test]
fn links_between_files_become_addresses() {
    for (target, expected) in [
        ("rpc.md", "rpc.html"),
        ("rpc.md#events", "rpc.html#events"),
        ("#events", "#events"),
        ("docs/rpc.md", "rpc.html"),
        ("docs/", "index.html"),
        ("docs/images/a.svg", "images/a.svg"),
        ("schema/README.md", "schema/index.html"),
        ("../rpc.md", "../rpc.html"),
        ("https://example.com/a.md#b", "https://example.com/a.md#b"),
    ] {
        assert_eq!(site_address(target), expected);
    }
}

#[test]
fn rendered_pages_have_anchors_tables_and_code() {
    let source = "# Title\n\nThe `lead`.\n\n## One & two\n\n| a | b |\n|---|--:|\n| x | 1 |\n\n## One & two\n\n\
                  ```sh test\necho hi\n```\n\n<!-- note -->\n";
    let images = ImageSizes::default();
    let page = render::render(source, &site_address, &images, CodeColors::Syntax).unwrap();
    assert_eq!(
        (page.title.as_str(), page.lead.as_str()),
        ("Title", "The lead.")
    );
    let anchors: Vec<&str> = page.headings.iter().map(|it| it.anchor.as_str()).collect();
    assert_eq!(anchors, ["one--two", "one--two-1"]);
    assert!(
        page.html.contains("<td class=\"right\">1</td>"),
        "{}",
        page.html
    );
    assert!(page.html.contains("data-language=\"sh\""), "{}", page.html);
    assert!(!page.html.contains("note"), "{}", page.html);
    assert_eq!(page.sections[2].text.trim(), "echo hi");
    let page = render::render("a <package>", &site_address, &images, CodeColors::None).unwrap();
    assert_eq!(page.html, "<p>a &lt;package&gt;</p>\n");
}

#[test]
fn screenshots_are_there_for_both_schemes() {
    let source = "<picture><source media=\"x\" srcset=\"a-dark.svg\"><img alt=\"A \" src=\"a-light.svg\" width=\"820\"></picture>\n";
    let page = render::render(
        source,
        &site_address,
        &ImageSizes::default(),
        CodeColors::None,
    )
    .unwrap();
    assert_eq!(
        page.html,
        "<figure><img class=\"in-light\" src=\"a-light.svg\" loading=\"lazy\" alt=\"A \">\
         <img class=\"in-dark\" src=\"a-dark.svg\" loading=\"lazy\" alt=\"A \"></figure>\n"
    );
}

#[test]
fn a_browser_searches_and_switches_the_color_scheme() {
    let Some(mut browser) = Browser::start(1280, 800) else {
        return;
    };
    let site = serve(generate(&repository(), None, CodeColors::None).unwrap());
    browser.open(&format!("{site}/sessions.html"));
    browser.wait_for("document.querySelector('button.find:not([hidden])')");
    browser.click("button.find");
    browser.wait_for("document.querySelector('dialog.search[open] input')");
    browser.type_into("dialog.search input", "no-context-files");
    browser.wait_for("document.querySelectorAll('#results li').length > 0");
    browser.press("Enter");
    browser.wait_for("location.pathname === '/command-line.html'");
    browser.wait_for("document.querySelector('button.scheme:not([hidden])')");
    let background = "getComputedStyle(document.body).backgroundColor";
    let before = browser.evaluate(background);
    browser.click("button.scheme");
    assert_ne!(browser.evaluate(background), before);
    assert_eq!(browser.problems(), Vec::<String>::new());
}

#[test]
fn pages_fit_a_phone() {
    let Some(mut browser) = Browser::start(390, 844) else {
        return;
    };
    let site = serve(generate(&repository(), None, CodeColors::None).unwrap());
    for page in ["index", "configuration", "extension-packages", "rpc"] {
        browser.open(&format!("{site}/{page}.html"));
        browser.wait_for("document.querySelector('button.find:not([hidden])')");
        let width = browser.evaluate("document.documentElement.scrollWidth");
        assert_eq!(width, 390, "{page}");
    }
    browser.click("button.menu");
    browser.wait_for("document.querySelector('#pages').getBoundingClientRect().height > 400");
    assert_eq!(browser.problems(), Vec::<String>::new());
}
