//! Texts that try to become markup or code in a page.

/// Texts that a model, a tool, a file name or another program may put into a session. Any script
/// that runs sets an attribute on the root element.
pub const HOSTILE_TEXTS: &[&str] = &[
    "<script>document.documentElement.dataset.ran=1</script>",
    "</script><script>document.documentElement.dataset.ran=2</script>",
    "<!--<script>",
    "--></script><img src=x onerror=document.documentElement.dataset.ran=3>",
    "<svg onload=document.documentElement.dataset.ran=4><script>document.documentElement.dataset.ran=5</script></svg>",
    "[a](javascript:document.documentElement.dataset.ran=6)",
    "![a](javascript:document.documentElement.dataset.ran=7)",
    "[a](JaVaScRiPt:document.documentElement.dataset.ran=8) [b](java\tscript:x) [c]( javascript:x)",
    "<javascript:document.documentElement.dataset.ran=9> [d](vbscript:x) [e](file:///etc/passwd)",
    "![beacon](https://evil.example/pixel.png) ![s](data:image/svg+xml;base64,PHN2Zy8+)",
    "[a](data:text/html,<script>document.documentElement.dataset.ran=10</script>)",
    "<iframe src=javascript:parent.document.documentElement.dataset.ran=11></iframe>",
    "<style>body{display:none}</style><link rel=stylesheet href=//evil.example>",
    "<base href=//evil.example><meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><button autofocus onfocus=document.documentElement.dataset.ran=12>",
    "\u{2028}document.documentElement.dataset.ran=13\u{2029}",
    "{{script}} {{data}} {{policy}} ${document.documentElement.dataset.ran=14}",
    "\u{1b}]8;;javascript:document.documentElement.dataset.ran=15\u{7}link\u{1b}]8;;\u{7}\u{1b}[31mred",
    "\" onmouseover=document.documentElement.dataset.ran=16 x=\"",
    "__proto__",
];
