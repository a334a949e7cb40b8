"""Pages as tests read them: what is shown, and what a browser would load."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """A parsed page.

    Attributes
    ----------
    tags, cells, anchors : all tags, the text of all cells of tables, and identifiers.
    loaded, fetched : addresses that a browser loads by itself, and all addresses elsewhere.
    images : number of images that are inlined and described.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.cells, self.anchors = [], [], set()
        self.loaded, self.fetched, self.images = [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.tags.append(tag)
        self.cells += [""] if tag in ("td", "th") else []
        self.anchors |= {values["id"]} if values.get("id") else set()
        self.loaded += [values["src"]] if values.get("src") else []
        self.loaded += [values["href"]] if tag == "link" and values.get("rel") != "canonical" else []
        self.fetched += [values[name] for name in ("src", "href") if values.get(name, "").startswith(("http", "//", "file"))]
        self.images += tag == "img" and values["src"].startswith("data:image/svg+xml") and bool(values["alt"])

    def handle_data(self, data):
        if self.tags and self.tags[-1] in ("td", "th"):
            self.cells[-1] += data
