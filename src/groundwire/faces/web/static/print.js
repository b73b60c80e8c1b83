// The page that is printed, or saved as PDF.
document.addEventListener("click", (event) => {
  if (event.target.closest?.('[data-do="print"]')) window.print();
});
