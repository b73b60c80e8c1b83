import { watchCards } from "./cards.js";
import { watchComposer } from "./composer.js";
import { watchEarlier } from "./earlier.js";
import { watchForms } from "./forms.js";
import { watchUnsaved } from "./unsaved.js";

watchForms(document);
watchCards(document);
watchComposer(document);
watchEarlier(document);
watchUnsaved(document);
