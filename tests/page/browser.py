# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium by its debugging pipe: JSON ended by NUL on
descriptors 3 and 4. Python's standard library only.

One Browser for all pages. A Page collects what the console says and what is
asked of the network; both are expected to be empty. Input is real: it goes
through the browser as that of a mouse and a keyboard does.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

LIMIT = 60  # seconds: only a limit, nothing waits for it


class BrowserError(Exception):
    """What the browser refused, or did not say in time."""


def find_chromium():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A headless Chromium with a profile of its own, ended by close()."""

    FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-first-run",
             "--disable-gpu", "--disable-extensions", "--mute-audio",
             "--disable-background-networking", "--disable-component-update",
             "--disable-dev-shm-usage", "--hide-scrollbars",
             "--font-render-hinting=none", "--force-color-profile=srgb")

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="perfrec-page-")
        self.number = 0
        self.waiting = b""
        self.pages = {}
        self.idle = []
        child_in, self.write = os.pipe()
        self.read, child_out = os.pipe()

        def descriptors():
            # Above 4 first, so that neither overwrites the other.
            a, b = os.dup2(child_in, 10), os.dup2(child_out, 11)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.setpgid(0, 0)

        flags = list(self.FLAGS) + ["--user-data-dir=" + self.profile]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        env = dict(os.environ, HOME=self.profile, XDG_CONFIG_HOME=self.profile,
                   LC_ALL="C.UTF-8", TZ="UTC")
        env.pop("DISPLAY", None)
        self.process = subprocess.Popen(
            [find_chromium()] + flags + ["about:blank"], preexec_fn=descriptors,
            close_fds=False, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(child_in)
        os.close(child_out)

    def close(self):
        """Ends the browser and all its children."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def send(self, method, params=None, session=None):
        """Sends a command; returns its number."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write, data):]
        return self.number

    def receive(self, until):
        """The next message before the time UNTIL; events go to their page."""
        while b"\0" not in self.waiting:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise BrowserError("the browser says nothing")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise BrowserError("the browser has ended")
            self.waiting += data
        line, self.waiting = self.waiting.split(b"\0", 1)
        message = json.loads(line)
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.event(message["method"], message.get("params", {}))
        return message

    def call(self, method, params=None, session=None):
        """Sends a command and returns its result."""
        number = self.send(method, params, session)
        until = time.monotonic() + LIMIT
        while True:
            message = self.receive(until)
            if message.get("id") != number:
                continue
            if "error" in message:
                raise BrowserError("%s: %s" % (method, message["error"]["message"]))
            return message.get("result", {})

    def open(self, url, width=1200, height=800, dark=False, scripts=True):
        """Opens a page, in a tab that is idle if there is one, and waits until
        it is loaded."""
        page = self.idle.pop() if self.idle else self.tab()
        page.prepare(width, height, dark, scripts)
        page.go(url)
        return page

    def tab(self):
        """A new tab."""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget",
                            {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, target, session)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            page.call(domain + ".enable")
        return page


class Page:
    """A tab."""

    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.console = []
        self.requests = []
        self.loaded = False

    def call(self, method, **params):
        """A command for this tab."""
        return self.browser.call(method, params, self.session)

    def event(self, method, params):
        """Keeps what the browser tells of this tab."""
        if method == "Runtime.consoleAPICalled":
            self.console.append(str([a.get("value", a.get("description")) for a in params["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def prepare(self, width, height, dark, scripts):
        """Before anything is loaded."""
        self.size(width, height)
        self.media(dark)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def size(self, width, height):
        """Of the viewport, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def media(self, dark, reduced=True):
        """What the person prefers."""
        self.call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"}])

    def go(self, url):
        """Loads URL and waits for it."""
        # A tab behind another one is not painted.
        self.call("Page.bringToFront")
        # An idle tab may have this page at another fragment, and would not load it.
        if not self.load(url):
            self.load("about:blank")
            self.load(url)

    def load(self, url):
        """Loads URL and waits for it; False: only the fragment has changed."""
        self.loaded = False
        self.console = []
        self.requests = []
        if "loaderId" not in self.call("Page.navigate", url=url):
            return False
        until = time.monotonic() + LIMIT
        while not self.loaded:
            self.browser.receive(until)
        return True

    def close(self):
        """The tab may be used for another page."""
        self.browser.idle.append(self)

    def js(self, expression):
        """The value of an expression; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression,
                           awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise BrowserError("%s: %s" % (expression, result["exceptionDetails"].get(
                "exception", {}).get("description", "failed")))
        return result["result"].get("value")

    def wait(self, expression):
        """Until an expression is true in a painted page; returns its value."""
        return self.js("""new Promise((resolve, reject) => {
            const end = performance.now() + %d;
            const look = () => {
              let value;
              try { value = (%s); } catch (error) { reject(error); return; }
              if (value) resolve(value);
              else if (performance.now() > end) reject(new Error('never true'));
              else requestAnimationFrame(look);
            };
            look();
          })""" % (LIMIT * 500, expression))

    def painted(self):
        """After what was asked for has been painted."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    # --- input ---------------------------------------------------------------

    KEYS = {"Enter": 13, "Escape": 27, "Backspace": 8, "Tab": 9, "ArrowLeft": 37,
            "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}

    def press(self, *keys, shift=False):
        """Keys, one after the other: "a", "Enter", ..."""
        for key in keys:
            event = {"key": key, "code": key if len(key) > 1 else "", "modifiers": 8 if shift else 0,
                     "windowsVirtualKeyCode": self.KEYS.get(key) or (ord(key.upper()) if key.isalnum() else 0)}
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown",
                      **dict(event, text=text) if text else event)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        """Types a text where the cursor is."""
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        """One event of the mouse."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        """A click of the left button."""
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x1, x2, y):
        """From X1 to X2 with the left button down."""
        self.mouse("mouseMoved", x1, y)
        self.mouse("mousePressed", x1, y, button="left", buttons=1, clickCount=1)
        for part in (0.25, 0.5, 0.75, 1):
            self.mouse("mouseMoved", x1 + (x2 - x1) * part, y, button="left", buttons=1)
        self.mouse("mouseReleased", x2, y, button="left", clickCount=1)

    def box(self, selector):
        """(x, y, width, height) of an element, brought into sight."""
        return self.js("""(() => { const e = document.querySelector(%s);
            e.scrollIntoView({ block: 'center' });
            const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()"""
                       % json.dumps(selector))

    def click_on(self, selector):
        """A click in the middle of an element."""
        x, y, width, height = self.box(selector)
        self.click(x + width / 2, y + height / 2)

    # --- what is seen --------------------------------------------------------

    def text(self, selector):
        """What an element says."""
        return self.js("document.querySelector(%s).textContent" % json.dumps(selector))

    def picture(self, path):
        """A screenshot as PNG."""
        self.painted()
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def paper(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def tree(self):
        """The accessibility tree: [(role, name, value), ...], without what is ignored."""
        nodes = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            if not node.get("ignored"):
                nodes.append(tuple(str(node.get(member, {}).get("value", ""))
                                   for member in ("role", "name", "value")))
        return nodes
