// A shared session: only what a reader needs.
import { watchCards } from "./cards.js";

watchCards(document);
