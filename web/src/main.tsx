import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./app.tsx";
import "./app.css";
import { followAddress } from "./route.ts";
import { startSession } from "./session.ts";
import { startTheme } from "./theme.ts";
import { takeTokenFromAddress } from "./token.ts";

startTheme();
takeTokenFromAddress();
addEventListener("hashchange", takeTokenFromAddress); // before the address is read: it may be opened in this tab
followAddress();
startSession();
const root = document.getElementById("app")!;
root.replaceChildren();
render(<App />, root);
